cluster "c" {
  kubernetes_version = "1.36.3"
}

node "cp" {
  cluster = cluster.c
  role    = "control-plane"
  address = "10.0.0.1"

  connection {
    private_key = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIA==\n-----END PRIVATE KEY-----" # ERROR: Private key in the configuration # ERROR: Private key in the configuration
  }
}

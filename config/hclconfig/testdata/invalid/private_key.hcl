cluster "c" {
  kubernetes_version = "1.36.3"
}

node "cp" {
  cluster = cluster.c
  role    = "control-plane"
  address = "10.0.0.1"

  connection {
    private_key = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIA==\n-----END PRIVATE KEY-----" # ERROR: Private key in the configuration
  }
}

variable "key" {
  default = "-----BEGIN" # and the rest of it
}

node "worker" {
  cluster = cluster.c
  role    = "worker"
  address = "10.0.0.2"

  connection {
    private_key = var.key # ERROR: Private key in the configuration
  }
}

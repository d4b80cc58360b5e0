cluster "c" {
  kubernetes_version = "1.36.3"
}

node "a" {
  cluster = cluster.c
  role    = "control-plane"
  address = "10.0.0.1"
}

node "b" {
  cluster = cluster.c
  role    = "worker"
  address = "10.0.0.2"

  connection {
    type = "sim" # ERROR: Simulated and real hosts in one cluster
  }
}

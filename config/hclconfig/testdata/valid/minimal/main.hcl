cluster "c" {
  kubernetes_version = "1.36.3"
}

node "n" {
  cluster = cluster.c
  role    = "control-plane"
  address = "192.0.2.1"
}

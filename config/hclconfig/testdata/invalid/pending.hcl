cluster "c" {
  kubernetes_version = "1.36.3"
}

node "cp" {
  cluster = cluster.c
  role    = "control-plane"
  address = "10.0.0.1"
  labels  = { peer = node.w.name } # ERROR: Value not known in time
}

node "w" {
  cluster = cluster.c
  role    = "worker"
  address = "10.0.0.2"
}

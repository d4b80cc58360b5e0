cluster "c" {
  kubernetes_version = "1.36.3"
  server             = "https://api" # ERROR: Attribute cannot be set
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

node "x" {
  cluster = cluster.c
  role    = "worker"
  address = "10.0.0.3"
  labels  = { api = cluster.c.server } # ERROR: Value not known in time
}

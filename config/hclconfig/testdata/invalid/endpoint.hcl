cluster "a" {
  kubernetes_version     = "1.36.3"
  control_plane_endpoint = "https://api.example.com:6443" # ERROR: Invalid control plane endpoint
  bind_port              = 10250                          # ERROR: Port is taken
}

cluster "b" {
  kubernetes_version     = "1.36.3"
  control_plane_endpoint = "Api.Example.com:70000" # ERROR: Invalid control plane endpoint # ERROR: Invalid control plane endpoint
  bind_port              = 0                       # ERROR: Invalid port
}

cluster "c" {
  kubernetes_version     = "1.36.3"
  control_plane_endpoint = ":6443" # ERROR: Invalid control plane endpoint
}

cluster "d" { # ERROR: Control plane endpoint is missing # WARNING: Even number of etcd members
  kubernetes_version = "1.36.3"
}

cluster "e" {
  kubernetes_version     = "1.36.3"
  control_plane_endpoint = "192.0.2.11:6443" # WARNING: Endpoint is one node's own address
}

cluster "f" { # ERROR: Cluster without control plane
  kubernetes_version = "1.36.3"
}

node "a" {
  cluster = cluster.a
  role    = "control-plane"
  address = "192.0.2.1"
}

node "b" {
  cluster = cluster.b
  role    = "control-plane"
  address = "192.0.2.2"
}

node "c" {
  cluster = cluster.c
  role    = "control-plane"
  address = "192.0.2.3"
}

node "d" {
  for_each = { a = "192.0.2.4", b = "192.0.2.5" }
  cluster  = cluster.d
  role     = "control-plane"
  address  = each.value
}

node "e" {
  for_each = toset(["192.0.2.11", "192.0.2.12", "192.0.2.13"])
  cluster  = cluster.e
  role     = "control-plane"
  address  = each.value
}

node "f" {
  cluster = cluster.f
  role    = "worker"
  address = "192.0.2.20"
}

cluster "g" {
  kubernetes_version     = "1.36.3"
  control_plane_endpoint = "api.example.com:6443:6443" # ERROR: Invalid control plane endpoint
}

cluster "h" {
  kubernetes_version     = "1.36.3"
  control_plane_endpoint = "API.example.com" # ERROR: Invalid control plane endpoint
}

node "g" {
  cluster = cluster.g
  role    = "control-plane"
  address = "192.0.2.30"
}

node "h" {
  cluster = cluster.h
  role    = "control-plane"
  address = "192.0.2.31"
}

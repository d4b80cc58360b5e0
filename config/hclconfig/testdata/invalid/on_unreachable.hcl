cluster "a" {
  kubernetes_version = "1.36.3"
  on_unreachable     = "ignore" # ERROR: Invalid treatment of unreachable hosts
}

node "a" {
  cluster = cluster.a
  role    = "control-plane"
  address = "10.77.0.11"
}

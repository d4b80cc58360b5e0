locals {
  a = local.b # ERROR: Cycle in the configuration
  b = [local.a]
}

cluster "c" {
  kubernetes_version     = "1.36.3"
  control_plane_endpoint = "${node.n["a"].address}:6443" # ERROR: Cycle in the configuration
}

node "n" {
  for_each = { a = 1 }
  cluster  = cluster.c
  role     = "control-plane"
  address  = split(":", cluster.c.control_plane_endpoint)[0]
}

node "self" {
  for_each = { for k, n in node.self : k => n.address } # ERROR: Cycle in the configuration
  cluster  = cluster.c
  role     = "worker"
  address  = each.value
}

cluster "c" {
  kubernetes_version = "1.36.3"
}

node "cp" {
  cluster = cluster.c
  role    = "control-plane"
  address = "10.0.0.1"
}

node "worker" {
  for_each = { w1 = "10.0.0.2", w9 = "10.0.0.3" }
  cluster  = cluster.c
  role     = "worker"
  address  = each.value
}

moved {
  from = node.worker["w2"]
  to   = node.worker["w8"] # WARNING: Target of a moved block is not declared
}

moved {
  from = cluster.d
  to   = cluster.prod # WARNING: Target of a moved block is not declared
}

moved {
  from = node.old
  to   = node.worker
}

moved {
  from = node.pool["a"]
  to   = node.between
}

moved {
  from = node.between
  to   = node.worker["w9"]
}

moved {
  from = node.pool["b"]
  to   = node.gone
}

removed {
  from = node.gone

  lifecycle {
    destroy = false
  }
}

cluster "c" {
  kubernetes_version = "1.36.3"
}

variable "secret" {
  default   = { a = "10.0.0.9" }
  sensitive = true
}

node "list" {
  for_each = ["10.0.0.1", "10.0.0.2"] # ERROR: Invalid for_each argument
  cluster  = cluster.c
  role     = "worker"
  address  = each.value
}

node "number" {
  for_each = 3 # ERROR: Invalid for_each argument
  cluster  = cluster.c
  role     = "worker"
  address  = each.value
}

node "null" {
  for_each = null # ERROR: Invalid for_each argument
  cluster  = cluster.c
  role     = "worker"
  address  = each.value
}

node "secret" {
  for_each = var.secret # ERROR: Invalid for_each argument
  cluster  = cluster.c
  role     = "worker"
  address  = each.value
}

node "named" {
  for_each = toset([node.cp.name]) # ERROR: Value not known in time
  cluster  = cluster.c
  role     = "worker"
  address  = each.value
}

node "many" {
  for_each = { for p in setproduct(range(101), range(100)) : "${p[0]}.${p[1]}" => "x" } # ERROR: Too many nodes
  cluster  = cluster.c
  role     = "worker"
  address  = each.value
}

node "cp" {
  cluster = cluster.c
  role    = "control-plane"
  address = "10.0.0.1"
}

node "nameless" {
  for_each = { " " = "10.0.0.3" } # ERROR: Invalid for_each argument
  cluster  = cluster.c
  role     = "worker"
  address  = each.value
}

variable "version" {
  default = ">= 0.1.0"
}

kubewright {
  required_version = var.version # ERROR: Variables not allowed
}

cluster "c" {
  kubernetes_version = "1.36.3"
}

node "cp" {
  cluster = cluster.c
  role    = "control-plane"
  address = "10.0.0.1"
}

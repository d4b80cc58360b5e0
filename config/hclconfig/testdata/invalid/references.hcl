locals {
  used = 1
}

variable "version" {
  default = "1.36.3"
}

cluster "c" {
  kubernetes_version = var.verison # ERROR: Reference to undeclared input variable
  cluster_name       = local.usde  # ERROR: Reference to undeclared local value
  image_repository   = node.x.name # ERROR: Reference to undeclared node

  control_plane_endpoint = node.n["b"].address # ERROR: Reference to undeclared node

  network {
    pod_subnet     = each.key                 # ERROR: Reference to "each" in context without for_each
    service_subnet = cluster.d.network        # ERROR: Reference to undeclared cluster
    dns_domain     = cluster.c.network.domain # ERROR: Unsupported attribute
  }

  api_server {
    cert_sans = [foo.bar] # ERROR: Unknown name
  }

  scheduler {
    arg "a" { value = var }            # ERROR: Invalid reference
    arg "b" { value = node.n.address } # ERROR: Reference to undeclared node
  }
}

node "n" {
  for_each = { a = "10.0.0.1" }
  cluster  = cluster.d # ERROR: Reference to undeclared cluster
  role     = "control-plane"
  address  = each.value
}

node "m" {
  cluster = "c" # ERROR: Invalid cluster reference
  role    = "worker"
  address = "10.0.0.2"
}

# A highly available cluster to try everything with: three control planes and
# two workers. The hosts are simulated, so nothing but kubewright is needed:
#
#   kubewright plan
#   kubewright apply
#   kubewright destroy
#
# For real hosts change the addresses and the connection at the bottom.

variable "kubernetes_version" {
  description = "Version of Kubernetes. Change it and plan again to see an upgrade."
  type        = string
  default     = "1.36.3"
}

cluster "demo" {
  kubernetes_version = var.kubernetes_version

  # A name or load balancer in front of the three API servers. Use one that you can
  # move; the address of a single node would go down with that node.
  control_plane_endpoint = "api.demo.example.com:6443"

  network {
    pod_subnet     = "10.244.0.0/16"
    service_subnet = "10.96.0.0/12"
  }
}

node "cp" {
  for_each = {
    cp1 = "10.77.0.11"
    cp2 = "10.77.0.12"
    cp3 = "10.77.0.13"
  }

  cluster = cluster.demo
  role    = "control-plane"
  name    = each.key
  address = each.value
}

node "worker" {
  for_each = {
    w1 = "10.77.0.21"
    w2 = "10.77.0.22"
  }

  cluster = cluster.demo
  role    = "worker"
  name    = each.key
  address = each.value

  labels = {
    "node.example.com/pool" = "general"
  }
}

# How to reach all hosts. For real ones:
#
#   connection {
#     user        = "ubuntu"
#     private_key = "~/.ssh/id_ed25519"
#   }
connection {
  type = "sim"
}

output "endpoint" {
  description = "Where the API answers."
  value       = cluster.demo.control_plane_endpoint
}

output "control_planes" {
  value = { for key, n in node.cp : key => n.address }
}

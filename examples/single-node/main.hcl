# A single machine: a control plane that also runs your pods.
#
# For development, continuous integration and the edge, where it may be down
# during changes. With one control plane there is no other one to serve the
# API meanwhile; use ha-stacked for that.
#
# Change: address. It is simulated by default. On the machine
# itself, as root:
#
#   kubewright apply -var simulate=false -var address=192.0.2.10

variable "simulate" {
  description = "Simulate the host instead of changing this machine."
  type        = bool
  default     = true
}

variable "address" {
  description = "Address of the machine by which pods and clients reach it; not a loopback address."
  type        = string
  default     = "192.0.2.10"
}

cluster "solo" {
  kubernetes_version = "1.36.3"

  network {
    pod_subnet = "10.244.0.0/16"
  }

  # One replica of everything is enough here, and there is nowhere to move
  # pods to while the node is upgraded.
  upgrade {
    drain {
      force                = true
      delete_emptydir_data = true
    }
  }
}

node "solo" {
  cluster = cluster.solo
  role    = "control-plane"
  name    = "solo"
  address = var.address

  # No taints: pods may run on the control plane.
  taints = []

  connection {
    type = var.simulate ? "sim" : "local"
  }
}

output "api" {
  value = "https://${node.solo.address}:${cluster.solo.bind_port}"
}

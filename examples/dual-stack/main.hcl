# IPv4 and IPv6 side by side: pods, Services and nodes have both. The family
# that is written first is the primary one.
#
# For networks in which some clients or servers support only one of the two. The
# families of a running cluster cannot be changed: decide before the first apply.
# The network plugin has to support both as well.
#
# Change: the networks and numbers in locals, the subnets (no overlap with
# anything that is routed), control_plane_endpoint and the connection.
#
# It is simulated until you say -var simulate=false.

variable "simulate" {
  description = "Simulate the hosts."
  type        = bool
  default     = true
}

locals {
  nodes = {
    cp1 = { role = "control-plane", number = 11 }
    cp2 = { role = "control-plane", number = 12 }
    cp3 = { role = "control-plane", number = 13 }
    w1  = { role = "worker", number = 21 }
    w2  = { role = "worker", number = 22 }
  }

  ipv4 = "10.77.0.0/24"
  ipv6 = "fd00:10:77::/64"
}

cluster "dual" {
  kubernetes_version     = "1.36.3"
  control_plane_endpoint = "api.dual.example.com:6443"

  network {
    pod_subnet     = "10.244.0.0/16,fd00:10:244::/56"
    service_subnet = "10.96.0.0/16,fd00:10:96::/112"
  }

  controller_manager {
    # Each node gets a /24 and a /64 of the pod subnets; these are the defaults.
    arg "node-cidr-mask-size-ipv4" { value = "24" }
    arg "node-cidr-mask-size-ipv6" { value = "64" }
  }
}

node "n" {
  for_each = local.nodes

  cluster = cluster.dual
  role    = each.value.role
  name    = each.key
  address = cidrhost(local.ipv4, each.value.number)

  # One address per family, the primary family first.
  advertise_addresses = [
    cidrhost(local.ipv4, each.value.number),
    cidrhost(local.ipv6, each.value.number),
  ]
}

connection {
  type = var.simulate ? "sim" : "ssh"
  user = "ubuntu"
}

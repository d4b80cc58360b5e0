# Many workers from an inventory that another tool maintains. Adding a line to
# workers.yaml adds a node; removing one drains and resets the node.
#
# For clusters whose workers change often, or are too many to list by hand.
#
# Change: workers.yaml, or how it is read into local.workers (jsondecode and
# csvdecode work as well); the control planes, control_plane_endpoint and the
# connection; how many workers an upgrade may take down at once.
#
# It is simulated until you say -var simulate=false.

variable "simulate" {
  description = "Simulate the hosts."
  type        = bool
  default     = true
}

locals {
  # A map of name to { address, pool, zone }: the keys name the nodes, so
  # the order of lines does not matter.
  workers = yamldecode(file("workers.yaml"))
}

cluster "farm" {
  kubernetes_version     = "1.36.3"
  control_plane_endpoint = "api.farm.example.com:6443"

  network {
    pod_subnet = "10.244.0.0/16" # 256 nodes with 254 pods each
  }

  upgrade {
    max_unavailable = "10%"

    drain {
      timeout              = "10m"
      delete_emptydir_data = true
    }
  }
}

node "cp" {
  for_each = { cp1 = "10.77.0.11", cp2 = "10.77.0.12", cp3 = "10.77.0.13" }

  cluster = cluster.farm
  role    = "control-plane"
  name    = each.key
  address = each.value
}

node "worker" {
  for_each = local.workers

  cluster = cluster.farm
  role    = "worker"
  name    = each.key
  address = each.value.address

  labels = {
    "node.example.com/pool"       = each.value.pool
    "topology.kubernetes.io/zone" = each.value.zone
  }

  # Nodes with GPUs take only pods that ask for them.
  dynamic "taint" {
    for_each = each.value.pool == "gpu" ? ["nvidia.com/gpu"] : []
    labels   = [taint.value]
    content {
      effect = "NoSchedule"
    }
  }

  # They run fewer, larger pods.
  kubelet {
    config = each.value.pool == "gpu" ? { maxPods = 20 } : {}
  }
}

connection {
  type        = var.simulate ? "sim" : "ssh"
  user        = "ubuntu"
  private_key = "~/.ssh/id_ed25519"
}

output "nodes_per_pool" {
  value = { for pool in distinct([for w in values(local.workers) : w.pool]) : pool => length([for w in values(local.workers) : w if w.pool == pool]) }
}

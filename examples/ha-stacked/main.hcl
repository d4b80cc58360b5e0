# A production cluster: three control planes, each with its own etcd member,
# behind a load balancer, and workers in two pools. Reached through a bastion.
#
# The usual choice: any one control plane may fail or be changed while the API
# stays available, and there is no separate etcd to run.
#
# Change: the values of the variables, here or in kubewright.kwvars; the
# connection and its bastion; then the settings below as needed.
#
# It is simulated until you say -var simulate=false.

kubewright {
  required_version = ">= 0.1.0"
}

variable "simulate" {
  description = "Simulate the hosts."
  type        = bool
  default     = true
}

variable "kubernetes_version" {
  description = "Version of Kubernetes. Another one is an upgrade."
  type        = string
  default     = "1.36.3"

  validation {
    condition     = startswith(var.kubernetes_version, "1.")
    error_message = "Write a version such as 1.36.3."
  }
}

variable "endpoint" {
  description = "A load balancer, or a name that you can move, with port 6443 of all control planes behind it."
  type        = string
  default     = "api.prod.example.com:6443"
}

variable "control_planes" {
  description = "Addresses of the control planes: one or three, five for many failures at a time."
  type        = map(string)
  default = {
    cp1 = "10.77.0.11"
    cp2 = "10.77.0.12"
    cp3 = "10.77.0.13"
  }
}

variable "workers" {
  description = "Addresses of the workers, and the pool that each belongs to."
  type        = map(object({ address = string, pool = string }))
  default = {
    w1 = { address = "10.77.0.21", pool = "general" }
    w2 = { address = "10.77.0.22", pool = "general" }
    b1 = { address = "10.77.0.31", pool = "batch" }
    b2 = { address = "10.77.0.32", pool = "batch" }
  }
}

cluster "prod" {
  kubernetes_version     = var.kubernetes_version
  control_plane_endpoint = var.endpoint

  network {
    pod_subnet     = "10.244.0.0/16"
    service_subnet = "10.96.0.0/12"
  }

  api_server {
    # The certificate already has the endpoint's name; these are further
    # names under which clients reach the API.
    cert_sans = ["kubernetes.example.com"]

    arg "profiling" { value = "false" }
    arg "event-ttl" { value = "3h" }

    # For an audit log write an audit block, for what the CIS benchmark asks
    # of a cluster a hardening block, into the cluster.
    extra_volume "log" {
      host_path  = "/var/log/kubernetes"
      mount_path = "/var/log/kubernetes"
      path_type  = "DirectoryOrCreate"
    }
  }

  etcd {
    arg "quota-backend-bytes" { value = "8589934592" }
  }

  # KubeletConfiguration, for all nodes of the cluster.
  kubelet {
    config = {
      maxPods                         = 200
      shutdownGracePeriod             = "60s"
      shutdownGracePeriodCriticalPods = "20s"
      evictionHard                    = { "memory.available" = "200Mi" }
      serializeImagePulls             = false
      maxParallelImagePulls           = 5
    }
  }

  kube_proxy {
    config = { mode = "nftables" }
  }

  certificates {
    algorithm    = "ECDSA-P256"
    renew_before = "720h"
  }

  upgrade {
    max_unavailable = "25%" # of the workers

    drain {
      timeout              = "15m"
      delete_emptydir_data = true
    }
  }
}

node "cp" {
  for_each = var.control_planes

  cluster = cluster.prod
  role    = "control-plane"
  name    = each.key
  address = each.value
}

node "worker" {
  for_each = var.workers

  cluster = cluster.prod
  role    = "worker"
  name    = each.key
  address = each.value.address

  labels = {
    "node.example.com/pool" = each.value.pool
  }

  # Only nodes of the batch pool are tainted.
  dynamic "taint" {
    for_each = each.value.pool == "batch" ? ["dedicated"] : []
    labels   = [taint.value]
    content {
      value  = "batch"
      effect = "NoSchedule"
    }
  }
}

# For all nodes; a node block may have its own connection block and override
# single attributes.
connection {
  type        = var.simulate ? "sim" : "ssh"
  user        = "ubuntu"
  private_key = "~/.ssh/id_ed25519"

  bastion {
    host = "jump.example.com"
    user = "jump"
  }
}

output "endpoint" {
  value = cluster.prod.control_plane_endpoint
}

output "workers_by_pool" {
  value = { for key, w in var.workers : w.pool => key... }
}

# A cluster below a CA of yours, whose key never reaches a host: kubewright
# signs everything on your machine, with the key in memory for the duration of one
# command. See docs/how-to/use-your-own-ca.md.
#
#   export KUBEWRIGHT_VAR_ca_key="$(pass show kubernetes/ca.key)"
#   kubewright apply
#
# Beside this file lies ca.crt, the CA's certificate. To try it out, create one:
#
#   sh ca.sh
#   export KUBEWRIGHT_VAR_ca_key="$(cat ca.key)"
#
# It is simulated until you say -var simulate=false.

variable "simulate" {
  description = "Simulate the hosts."
  type        = bool
  default     = true
}

variable "ca_key" {
  description = "Key of the CA as PEM."
  type        = string
  sensitive   = true
}

cluster "prod" {
  kubernetes_version     = "1.36.3"
  control_plane_endpoint = "api.prod.example.com:6443"

  network {
    pod_subnet = "10.244.0.0/16"
  }

  certificates {
    ca {
      certificate = file("ca.crt")
      key         = var.ca_key

      # With on_hosts = true the key is copied to the control planes, as kubeadm
      # does: the cluster then signs its kubelets' certificates itself.
    }

    # The other two CAs of a cluster are usually internal: kubewright
    # creates them. You can provide them like the one above:
    #
    #   front_proxy_ca { … }
    #   etcd_ca        { … }
  }
}

node "cp" {
  for_each = { cp1 = "10.77.0.11", cp2 = "10.77.0.12", cp3 = "10.77.0.13" }

  cluster = cluster.prod
  role    = "control-plane"
  name    = each.key
  address = each.value
}

node "worker" {
  for_each = { w1 = "10.77.0.21" }

  cluster = cluster.prod
  role    = "worker"
  name    = each.key
  address = each.value
}

connection {
  type = var.simulate ? "sim" : "ssh"
  user = "ubuntu"
}

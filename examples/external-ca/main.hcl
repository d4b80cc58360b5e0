# A cluster whose CA is yours and whose CA keys never reach a host.
#
# There are two ways, and this example does both:
#
#   With the key, given for the time of one command, kubewright signs
#   everything itself, from your machine:
#
#     export KUBEWRIGHT_VAR_ca_key="$(pass show kubernetes/ca.key)"
#     kubewright apply
#
#   Without the key you supply certificates and kubeconfigs per node, signed by
#   whoever has it, in the folder ./supplied:
#
#     supplied/cp1/pki/apiserver.crt      supplied/cp1/admin.conf
#     supplied/cp1/pki/apiserver.key      supplied/cp1/kubelet.conf      …
#     supplied/w1/kubelet.conf
#
# It is simulated until you say -var simulate=false.

variable "simulate" {
  description = "Simulate the hosts."
  type        = bool
  default     = true
}

variable "ca_key" {
  description = "Key of the CA as PEM. Without it certificates are supplied."
  type        = string
  default     = null
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
    }

    # The other two CAs of a cluster are as a rule its own affair: kubewright
    # makes them. They could be given like the one above:
    #
    #   front_proxy_ca { … }
    #   etcd_ca        { … }

    supplied = nonsensitive(var.ca_key == null) ? "supplied" : null
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

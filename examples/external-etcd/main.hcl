# Control planes that use an etcd of yours. kubewright never changes that etcd:
# its members, backups and upgrades are up to you.
#
# For operators who run etcd already, or want it on separate hosts. Otherwise
# ha-stacked is less to maintain.
#
# Beside this file lie etcd/ca.crt, the CA of etcd, and etcd/client.crt, a client
# certificate for the API servers. Its key is given for the duration of
# one command:
#
#   export KUBEWRIGHT_VAR_etcd_client_key="$(pass show etcd/client.key)"
#
# Change: those files, the members in locals, the addresses of the nodes,
# control_plane_endpoint and the connection.
#
# It is simulated until you say -var simulate=false.

variable "simulate" {
  description = "Simulate the hosts."
  type        = bool
  default     = true
}

variable "etcd_client_key" {
  description = "Key of etcd/client.crt as PEM."
  type        = string
  sensitive   = true
}

locals {
  etcd_members = ["10.77.1.11", "10.77.1.12", "10.77.1.13"]
}

cluster "prod" {
  kubernetes_version     = "1.36.3"
  control_plane_endpoint = "api.prod.example.com:6443"

  network {
    pod_subnet = "10.244.0.0/16"
  }

  etcd {
    external {
      endpoints = [for ip in local.etcd_members : "https://${ip}:2379"]

      # Paths on the control planes, and the contents to copy there. Without the
      # contents the files have to exist already.
      ca_file   = "/etc/kubernetes/pki/etcd/ca.crt"
      cert_file = "/etc/kubernetes/pki/apiserver-etcd-client.crt"
      key_file  = "/etc/kubernetes/pki/apiserver-etcd-client.key"

      ca   = file("etcd/ca.crt")
      cert = file("etcd/client.crt")
      key  = var.etcd_client_key
    }
  }
}

# Two control planes are enough for the API to stay up: the quorum is in etcd.
node "cp" {
  for_each = { cp1 = "10.77.0.11", cp2 = "10.77.0.12" }

  cluster = cluster.prod
  role    = "control-plane"
  name    = each.key
  address = each.value
}

node "worker" {
  for_each = { w1 = "10.77.0.21", w2 = "10.77.0.22" }

  cluster = cluster.prod
  role    = "worker"
  name    = each.key
  address = each.value
}

connection {
  type = var.simulate ? "sim" : "ssh"
  user = "ubuntu"
}

# A cluster below a CA whose key you do not have. You provide certificates
# and kubeconfigs per node, signed there, in the folder ./supplied:
#
#   supplied/cp1/pki/apiserver.crt                 supplied/cp1/admin.conf
#   supplied/cp1/pki/apiserver.key                 supplied/cp1/super-admin.conf
#   supplied/cp1/pki/apiserver-kubelet-client.crt  supplied/cp1/controller-manager.conf
#   supplied/cp1/pki/apiserver-kubelet-client.key  supplied/cp1/scheduler.conf
#   supplied/w1/kubelet.conf                       supplied/cp1/kubelet.conf
#
# and the same for cp2 and cp3 (super-admin.conf only for the first). Without
# them kubewright plan prints the requirements of each: common name,
# organization, names, server. See docs/how-to/use-your-own-ca.md.
#
# Beside this file lies ca.crt, the CA's certificate.
#
# It is simulated until you say -var simulate=false. Simulated hosts run in
# March 2026, so certificates for them have to be older.

variable "simulate" {
  description = "Simulate the hosts."
  type        = bool
  default     = true
}

cluster "prod" {
  kubernetes_version     = "1.36.3"
  control_plane_endpoint = "api.prod.example.com:6443"

  network {
    pod_subnet = "10.244.0.0/16"
  }

  certificates {
    supplied = "supplied"

    ca {
      certificate = file("ca.crt")
    }

    # kubewright creates the other two CAs. If they are given in the same way,
    # you supply their certificates as well.
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

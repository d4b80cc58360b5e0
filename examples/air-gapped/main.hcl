# Hosts without access to the internet, on which nothing is installed yet.
# Everything comes from a folder beside this file, over the same ssh connection
# as everything else. Its files keep the names of their projects' releases:
#
#   artifacts/SHA256SUMS
#   artifacts/kubelet                                 (kubeadm and kubectl too, if you like)
#   artifacts/containerd-2.1.4-linux-amd64.tar.gz
#   artifacts/runc.amd64
#   artifacts/cni-plugins-linux-amd64-v1.7.1.tgz
#   artifacts/images/*.tar                            (docker save, ctr images export)
#
# "kubewright bundle" creates the folder on a machine with internet access;
# docs/how-to/install-from-artifacts.md says more. It is simulated until you say
# -var simulate=false; the artifacts have to be there all the same.

variable "simulate" {
  description = "Simulate the hosts."
  type        = bool
  default     = true
}

cluster "vault" {
  kubernetes_version     = "1.36.3"
  control_plane_endpoint = "api.vault.example.internal:6443"

  # Images are loaded from the artifacts, and never pulled: a missing one is
  # reported before anything is changed.
  image_pull_policy = "Never"

  network {
    pod_subnet = "10.244.0.0/16"
    dns_domain = "vault.local"
  }

  install {
    artifacts = "./artifacts"
    keep      = ["images"] # a reset node can be joined again at once
  }

  # Which addresses components reach through a proxy, and which directly.
  proxy_env = {
    HTTPS_PROXY = "http://proxy.example.internal:3128"
    NO_PROXY    = "10.0.0.0/8,.example.internal,.svc,.vault.local"
  }

  # The network plugin, without which nodes do not become ready, is an addon
  # from a file of yours. Put an archive of its image into
  # artifacts/images, from where it goes to every node:
  #
  #   kernel_modules = ["br_netfilter"] # flannel asks for it
  #   addon "cni" { manifest = file("flannel.yaml") }
}

node "cp" {
  for_each = { cp1 = "10.77.0.11", cp2 = "10.77.0.12", cp3 = "10.77.0.13" }

  cluster = cluster.vault
  role    = "control-plane"
  name    = each.key
  address = each.value
}

node "worker" {
  for_each = { w1 = "10.77.0.21", w2 = "10.77.0.22" }

  cluster = cluster.vault
  role    = "worker"
  name    = each.key
  address = each.value
}

connection {
  type = var.simulate ? "sim" : "ssh"
  user = "ops"

  # Host keys are known in advance and checked strictly.
  known_hosts = "./known_hosts"
}

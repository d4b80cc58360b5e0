kubewright {
  required_version = "about 1.2" # ERROR: Invalid version constraint
}

cluster "c" { # ERROR: Cluster without control plane
  kubernetes_version = "1.36.3"

  kubelet {
    arg "container-runtime-endpoint" {
      value = "unix:///run/x.sock" # ERROR: Socket as an argument
    }
  }
}

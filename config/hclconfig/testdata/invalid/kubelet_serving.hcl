# Kubelets serve with certificates of the cluster's CA, and nothing else decides about them.
cluster "twice" {
  kubernetes_version = "1.36.3"

  certificates {
    kubelet_serving = true
  }

  kubelet {
    config = { # ERROR: Values contradict each other
      serverTLSBootstrap = true # ERROR: Serving certificate of kubelets is set twice
      featureGates = {
        ReloadKubeletServerCertificateFile = false # ERROR: Serving certificate of kubelets is set twice
      }
    }
    arg "tls-private-key-file" { value = "/srv/own.key" } # ERROR: Serving certificate of kubelets is set twice
  }

  api_server {
    arg "kubelet-certificate-authority" { value = "/etc/kubernetes/pki/ca.crt" } # ERROR: Serving certificate of kubelets is set twice
  }

  patch { # ERROR: Serving certificate of kubelets is set twice
    target  = "kubeletconfiguration"
    content = "tlsCertFile: /srv/own.crt"
  }
}

node "twice" {
  cluster = cluster.twice
  role    = "control-plane"
  address = "192.0.2.9"

  kubelet {
    config = {
      tlsCertFile = "/srv/own.crt" # ERROR: Serving certificate of kubelets is set twice
    }
  }

  patch { # ERROR: Serving certificate of kubelets is set twice
    target  = "kubeletconfiguration"
    content = "[{op: add, path: /serverTLSBootstrap, value: true}]"
    type    = "json"
  }
}

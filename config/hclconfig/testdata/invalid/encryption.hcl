# Encryption of objects in etcd.
cluster "twice" {
  kubernetes_version = "1.36.3"
  api_server {
    arg "encryption-provider-config" { value = "/etc/kubernetes/pki/own.yaml" } # ERROR: Setting is written twice
  }
  encryption {
    key = "a"
  }
}

cluster "names" {
  kubernetes_version = "1.36.3"
  encryption {
    key       = "a:b" # ERROR: Invalid encryption block
    resources = ["secrets", "secrets", "*.*", "Secrets", "pods/log", "apiserveripinfo", "events.events.k8s.io", "ingresses.extensions", "a_b"] # ERROR: Invalid encryption block
  }
}

cluster "nameless" {
  kubernetes_version = "1.36.3"
  encryption { # ERROR: Invalid encryption block
    resources = [] # ERROR: Invalid encryption block
  }
}

cluster "provider" {
  kubernetes_version = "1.36.3"
  encryption {
    provider = "aesgcm" # ERROR: Invalid encryption block
    key      = "a"
  }
}

cluster "needless" {
  kubernetes_version = "1.36.3"
  encryption {
    key = "a"
    kms { # ERROR: Invalid encryption block
      name     = "vault"
      endpoint = "unix:///run/kms/socket.sock"
    }
  }
}

cluster "plugin" {
  kubernetes_version = "1.36.3"
  encryption {
    provider = "kms"
    key      = "a" # ERROR: Invalid encryption block
    kms {
      name     = "va:ult" # ERROR: Invalid encryption block
      endpoint = "tcp://127.0.0.1:8080" # ERROR: Invalid encryption block
      timeout  = "0s" # ERROR: Invalid encryption block
    }
  }
}

cluster "pluginless" {
  kubernetes_version = "1.36.3"
  encryption { # ERROR: Invalid encryption block
    provider = "kms"
  }
}

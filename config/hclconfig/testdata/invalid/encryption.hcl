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
    resources = ["secrets", "secrets"] # ERROR: Invalid encryption block
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
    resources = ["*.*"] # ERROR: Invalid encryption block
    type = "aesgcm" # ERROR: Invalid encryption block
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
    type = "kms"
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
    type = "kms"
  }
}

node "twice" {
  cluster = cluster.twice
  role    = "control-plane"
  address = "192.0.2.1"
}

node "names" {
  cluster = cluster.names
  role    = "control-plane"
  address = "192.0.2.2"
}

node "nameless" {
  cluster = cluster.nameless
  role    = "control-plane"
  address = "192.0.2.3"
}

node "provider" {
  cluster = cluster.provider
  role    = "control-plane"
  address = "192.0.2.4"
}

node "needless" {
  cluster = cluster.needless
  role    = "control-plane"
  address = "192.0.2.5"
}

node "plugin" {
  cluster = cluster.plugin
  role    = "control-plane"
  address = "192.0.2.6"
}

node "pluginless" {
  cluster = cluster.pluginless
  role    = "control-plane"
  address = "192.0.2.7"
}

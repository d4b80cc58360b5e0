cluster "a" {
  kubernetes_version = "1.34.9"

  etcd {
    data_dir = "/data" # ERROR: Setting of a stacked etcd

    external { # ERROR: Invalid external etcd
      endpoints      = ["http://a:2379", "https://b:2379/x", "c:2379"] # ERROR: Invalid etcd endpoint # ERROR: Invalid etcd endpoint # ERROR: Invalid etcd endpoint
      http_endpoints = ["http://a:2381"]                               # ERROR: Invalid external etcd
      cert_file      = "/etc/etcd.crt"
      key            = "x" # ERROR: Invalid external etcd # ERROR: Invalid external etcd
    }
  }
}

cluster "b" {
  kubernetes_version = "1.36.3"

  etcd {
    external { # ERROR: Invalid external etcd
      endpoints = ["https://a:2379"]
      cert_file = "/etc/etcd.crt"
      key_file  = "/etc/etcd.key"
    }
  }

  patch { # ERROR: Invalid patch
    target  = "etcd"
    content = "spec: {}"
  }
}

cluster "c" {
  kubernetes_version = "1.36.3"

  etcd {
    external {
      endpoints = [] # ERROR: Invalid external etcd
    }
  }
}

node "a" {
  cluster = cluster.a
  role    = "control-plane"
  address = "10.0.0.1"
}

node "b" {
  cluster = cluster.b
  role    = "control-plane"
  address = "10.0.0.2"
}

node "c" {
  cluster = cluster.c
  role    = "control-plane"
  address = "10.0.0.3"
}

cluster "d" {
  kubernetes_version = "1.36.3"

  etcd {
    external {
      endpoints = ["http://10.0.0.9:2379"]
    }
  }

  certificates {
    etcd_ca { # ERROR: Setting of a stacked etcd
      certificate = "ca.crt"
    }
  }
}

node "d" {
  cluster = cluster.d
  role    = "control-plane"
  address = "10.0.0.4"
}

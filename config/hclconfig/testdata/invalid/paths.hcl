cluster "a" {
  kubernetes_version = "1.36.3"

  etcd {
    data_dir = "/var/lib" # ERROR: Folder of the whole machine
  }

  certificates {
    dir = "/etc/kubernetes/pki/"
  }

  api_server {
    extra_volume "slash" {
      host_path  = "/var/log/audit/"
      mount_path = "/var/log/audit/"
    }

    extra_volume "backslash" {
      host_path  = "/var/log\\audit" # ERROR: Path is not plain
      mount_path = "/audit"
    }
  }
}

cluster "b" {
  kubernetes_version = "1.36.3"

  etcd {
    data_dir = "/opt/bin/" # ERROR: Folder of the whole machine
  }

  certificates {
    dir = "/etc/ssl" # ERROR: Folder of the whole machine
  }
}

# The mount point of a disk for etcd may lie at the root.
cluster "c" {
  kubernetes_version = "1.36.3"

  etcd {
    data_dir = "/etcd"
  }

  certificates {
    dir = "/pki"
  }
}

cluster "d" {
  kubernetes_version = "1.36.3"

  etcd {
    data_dir = "/dev/shm/etcd" # ERROR: Folder of the whole machine
  }

  certificates {
    dir = "/srv/a\u0001b" # ERROR: Path is not plain
  }
}

cluster "e" {
  kubernetes_version = "1.36.3"

  etcd {
    data_dir = "/" # ERROR: Folder of the whole machine
  }
}

cluster "f" {
  kubernetes_version = "1.36.3"

  etcd {
    external {
      endpoints = ["https://etcd.example.com:2379"]
      ca_file   = "/etcd-ca.crt"
      cert_file = "/etc/etcd/client.crt/" # ERROR: Path ends with a slash
      key_file  = "/client.key" # ERROR: File at the root
      key       = "x" # ERROR: Invalid external etcd
    }
  }
}

node "a" {
  cluster    = cluster.a
  role       = "control-plane"
  address    = "10.0.0.1"
  cri_socket = "unix:///run//containerd/containerd.sock" # ERROR: Invalid CRI socket
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

node "d" {
  cluster = cluster.d
  role    = "control-plane"
  address = "10.0.0.4"
}

node "e" {
  cluster = cluster.e
  role    = "control-plane"
  address = "10.0.0.5"
}

node "f" {
  cluster = cluster.f
  role    = "control-plane"
  address = "10.0.0.6"
}

# Backups that control planes take.
cluster "nowhere" {
  kubernetes_version = "1.36.3"
  backup { # ERROR: Invalid backup
    recipients = ["age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"]
  }
}

cluster "values" {
  kubernetes_version = "1.36.3"
  unit "kubewright-backup.timer" { # ERROR: Setting is written twice
    enabled = true
  }
  backup {
    schedule   = "every day"    # ERROR: Invalid backup
    keep       = 0              # ERROR: Invalid backup
    recipients = ["prod-admin"] # ERROR: Invalid recipient
    folder     = "backups"      # ERROR: Invalid backup
  }
}

cluster "folders" {
  kubernetes_version = "1.36.3"
  backup {
    schedule   = "7h" # ERROR: Invalid backup
    recipients = ["age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"]
    folder     = "/var/lib/etcd/backups" # ERROR: Invalid backup
  }
}

cluster "kubernetes" {
  kubernetes_version = "1.36.3"
  backup {
    recipients = ["age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"]
    folder     = "/etc/kubernetes/backups" # ERROR: Invalid backup
  }
}

cluster "bucket" {
  kubernetes_version = "1.36.3"
  backup {
    recipients = ["age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"]
    s3 {
      bucket     = "Backups"           # ERROR: Invalid backup
      region     = "eu west"           # ERROR: Invalid backup
      endpoint   = "minio.example.com" # ERROR: Invalid backup
      prefix     = "a/../b"            # ERROR: Invalid backup
      access_key = "AK\n"              # ERROR: Invalid backup
      secret_key = "secret"
    }
  }
}

cluster "external" {
  kubernetes_version = "1.36.3"
  etcd {
    external {
      endpoints = ["https://192.0.2.50:2379"]
      ca_file   = "/etc/kubernetes/pki/etcd-external/ca.crt"
      cert_file = "/etc/kubernetes/pki/etcd-external/client.crt"
      key_file  = "/etc/kubernetes/pki/etcd-external/client.key"
    }
  }
  backup { # ERROR: Invalid backup
    recipients = ["age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"]
    folder     = "/var/backups/kubewright"
  }
}

node "nowhere" {
  cluster = cluster.nowhere
  role    = "control-plane"
  address = "192.0.2.1"
}

node "values" {
  cluster = cluster.values
  role    = "control-plane"
  address = "192.0.2.2"
}

node "folders" {
  cluster = cluster.folders
  role    = "control-plane"
  address = "192.0.2.3"
}

node "kubernetes" {
  cluster = cluster.kubernetes
  role    = "control-plane"
  address = "192.0.2.4"
}

node "bucket" {
  cluster = cluster.bucket
  role    = "control-plane"
  address = "192.0.2.5"
}

node "external" {
  cluster = cluster.external
  role    = "control-plane"
  address = "192.0.2.6"
}

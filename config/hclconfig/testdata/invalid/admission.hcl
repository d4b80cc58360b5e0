# Admission plugins of API servers.
cluster "none" {
  kubernetes_version = "1.36.3"
  admission {} # ERROR: Invalid admission block
}

cluster "values" {
  kubernetes_version = "1.36.3"
  api_server {
    arg "admission-control-config-file" { value = "/etc/kubernetes/pki/own.yaml" } # ERROR: Setting is written twice
  }
  admission {
    pod_security {
      enforce           = "strict" # ERROR: Invalid pod security
      standards_version = "1.36" # ERROR: Invalid pod security
    }
    plugin "PodSecurity" { # ERROR: Setting is written twice
      configuration = { kind = "PodSecurityConfiguration" }
    }
  }
}

node "none" {
  cluster = cluster.none
  role    = "control-plane"
  address = "192.0.2.1"
}

node "values" {
  cluster = cluster.values
  role    = "control-plane"
  address = "192.0.2.2"
}

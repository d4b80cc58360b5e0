# The audit log of API servers.
cluster "none" {
  kubernetes_version = "1.36.3"
  audit {} # ERROR: Invalid audit policy
}

cluster "both" {
  kubernetes_version = "1.36.3"
  audit { # ERROR: Invalid audit policy
    level  = "Metadata"
    policy = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n"
  }
}

cluster "level" {
  kubernetes_version = "1.36.3"
  audit {
    level = "None" # ERROR: Invalid audit policy
  }
}

cluster "relative" {
  kubernetes_version = "1.36.3"
  audit {
    level = "Metadata"
    log {
      path = "audit.log" # ERROR: Invalid audit log
    }
  }
}

node "relative" {
  cluster = cluster.relative
  role    = "control-plane"
  address = "192.0.2.9"
}

cluster "negative" {
  kubernetes_version = "1.36.3"
  audit {
    level = "Metadata"
    log {
      max_age = -1 # ERROR: Invalid audit log
    }
  }
}

cluster "twice" {
  kubernetes_version = "1.36.3"
  api_server {
    arg "audit-log-maxage" { value = "1" } # ERROR: Setting is written twice
  }
  file "/etc/kubernetes/audit/policy.yaml" { # ERROR: Setting is written twice
    content = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n"
  }
  audit {
    level = "Metadata"
  }
}

cluster "broken" {
  kubernetes_version = "1.36.3"
  audit {
    policy = "kind: Policy" # ERROR: Invalid file content
  }
}

node "none" {
  cluster = cluster.none
  role    = "control-plane"
  address = "192.0.2.1"
}

node "both" {
  cluster = cluster.both
  role    = "control-plane"
  address = "192.0.2.2"
}

node "level" {
  cluster = cluster.level
  role    = "control-plane"
  address = "192.0.2.3"
}

node "negative" {
  cluster = cluster.negative
  role    = "control-plane"
  address = "192.0.2.4"
}

node "twice" {
  cluster = cluster.twice
  role    = "control-plane"
  address = "192.0.2.5"
}

node "broken" {
  cluster = cluster.broken
  role    = "control-plane"
  address = "192.0.2.6"
}

cluster "lost" {
  kubernetes_version = "1.36.3"
  api_server {
    arg "audit-log-path" { value = "/audit/log" } # WARNING: File is lost with its container
  }
}

node "lost" {
  cluster = cluster.lost
  role    = "control-plane"
  address = "192.0.2.10"
}

# What a hardening block may not say, and settings that contradict its controls.
cluster "nothing" {
  kubernetes_version = "1.36.3"
  hardening {} # ERROR: Invalid hardening block
}

cluster "unknown" {
  kubernetes_version = "1.36.3"
  hardening {
    profile  = "stig"     # ERROR: Invalid hardening block
    controls = ["1.2.99"] # ERROR: Unknown control
    except "1.2.166" {    # ERROR: Unknown control
      reason = "mistyped"
    }
  }
}

cluster "unreasoned" {
  kubernetes_version = "1.36.3"
  hardening {
    profile  = "cis"
    controls = ["1.2.11"]
    except "1.1.12" {
      reason = " " # ERROR: Invalid hardening block
    }
    except "1.2.11" { # ERROR: Invalid hardening block
      reason = "both asked for and excepted"
    }
  }
}

cluster "contradicted" {
  kubernetes_version = "1.36.3"
  hardening {
    profile = "cis"
    except "V-242434" {
      reason = "the kernel is tuned by others"
    }
  }
  api_server {
    arg "profiling" { value = "true" }                          # ERROR: Setting contradicts a control
    arg "enable-admission-plugins" { value = "NodeRestriction,EventRateLimit" } # ERROR: Setting contradicts a control
    arg "oidc-issuer-url" { value = "https://issuer.example.com" } # ERROR: Setting contradicts a control
    arg "oidc-client-id" { value = "kubernetes" }
  }
  etcd {
    arg "client-cert-auth" { value = "false" } # ERROR: Setting contradicts a control
  }
  audit {
    level = "Metadata"
    log {
      max_age = 7 # ERROR: Setting contradicts a control
    }
  }
  admission { # ERROR: Setting contradicts a control
    pod_security {
      enforce = "privileged"
    }
  }
  certificates {
    kubelet_serving = false # ERROR: Setting contradicts a control
  }
  kubelet {
    config = { seccompDefault = false } # ERROR: Setting contradicts a control
    arg "pod-max-pids" { value = "-1" } # ERROR: Setting contradicts a control
  }
  kube_proxy {
    config = { metricsBindAddress = "0.0.0.0:10249" } # ERROR: Setting contradicts a control
  }
}

cluster "parts" {
  kubernetes_version = "1.36.3"
  hardening {
    controls = ["1.2.1", "V-242434"]
  }
  authentication { # ERROR: Setting contradicts a control
    anonymous {
      paths = ["/livez", "/readyz", "/healthz", "/version"]
    }
  }
}

node "cp" {
  for_each = { first = "10.0.0.1" }
  cluster  = cluster.nothing
  role     = "control-plane"
  address  = each.value
}

node "hardened" {
  cluster = cluster.contradicted
  role    = "control-plane"
  address = "10.0.0.4"
  kubelet {
    arg "read-only-port" { value = "10255" } # ERROR: Setting contradicts a control
  }
}

node "in_parts" {
  cluster = cluster.parts
  role    = "control-plane"
  address = "10.0.0.5"
  kubelet {
    config = { protectKernelDefaults = false } # ERROR: Setting contradicts a control
  }
}

node "others" {
  for_each = { unknown = "10.0.0.6" }
  cluster  = cluster.unknown
  role     = "control-plane"
  address  = each.value
}

node "last" {
  cluster = cluster.unreasoned
  role    = "control-plane"
  address = "10.0.0.7"
}

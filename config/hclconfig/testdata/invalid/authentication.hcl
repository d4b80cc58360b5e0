# How API servers authenticate users.
cluster "nothing" {
  kubernetes_version = "1.36.3"
  authentication {} # ERROR: Invalid authentication block
}

cluster "both" {
  kubernetes_version = "1.36.3"
  authentication {
    configuration = "kind: AuthenticationConfiguration" # ERROR: Invalid authentication block
    anonymous {}
  }
}

cluster "unmapped" {
  kubernetes_version = "1.36.3"
  authentication {
    jwt { # ERROR: Invalid authentication block
      issuer {
        url       = "https://issuer.example.com"
        audiences = ["kubernetes"]
      }
    }
  }
}

cluster "anyone" {
  kubernetes_version = "1.36.3"
  authentication {
    jwt { # ERROR: Invalid authentication block
      claim_mappings {
        username { claim = "sub" }
      }
    }
  }
}

cluster "refused" {
  kubernetes_version = "1.36.3"
  authentication { # ERROR: Probes would be refused
    anonymous {
      paths = ["/livez"]
    }
  }
}

cluster "own" {
  kubernetes_version = "1.36.3"
  authentication {
    configuration = "{apiVersion: apiserver.config.k8s.io/v1, kind: AuthenticationConfiguration, anonymous: {enabled: false}}" # ERROR: Probes would be refused
  }
}

cluster "flags" {
  kubernetes_version = "1.36.3"
  api_server {
    arg "oidc-issuer-url" { value = "https://issuer.example.com" } # ERROR: Setting is written twice
    arg "oidc-client-id" { value = "kubernetes" } # ERROR: Setting is written twice
    arg "anonymous-auth" { value = "true" } # ERROR: Setting is written twice # WARNING: Conflicting arguments
  }
  authentication {
    anonymous {}
  }
}

cluster "plain" {
  kubernetes_version = "1.36.3"
  authentication { # ERROR: Invalid file content
    jwt {
      issuer {
        url       = "http://issuer.example.com"
        audiences = ["kubernetes"]
      }
      claim_mappings {
        username {
          claim  = "sub"
          prefix = "oidc:"
        }
      }
    }
  }
}

node "nothing" {
  cluster = cluster.nothing
  role    = "control-plane"
  address = "192.0.2.10"
}

node "both" {
  cluster = cluster.both
  role    = "control-plane"
  address = "192.0.2.11"
}

node "unmapped" {
  cluster = cluster.unmapped
  role    = "control-plane"
  address = "192.0.2.12"
}

node "anyone" {
  cluster = cluster.anyone
  role    = "control-plane"
  address = "192.0.2.13"
}

node "refused" {
  cluster = cluster.refused
  role    = "control-plane"
  address = "192.0.2.14"
}

node "own" {
  cluster = cluster.own
  role    = "control-plane"
  address = "192.0.2.15"
}

node "flags" {
  cluster = cluster.flags
  role    = "control-plane"
  address = "192.0.2.16"
}

node "plain" {
  cluster = cluster.plain
  role    = "control-plane"
  address = "192.0.2.17"
}

cluster "half" {
  kubernetes_version = "1.36.3"
  api_server {
    arg "oidc-issuer-url" { value = "https://issuer.example.com" } # ERROR: Arguments do not go together
  }
}

cluster "whole" {
  kubernetes_version = "1.36.3"
  api_server {
    arg "oidc-issuer-url" { value = "https://issuer.example.com" }
    arg "oidc-client-id" { value = "kubernetes" }
  }
}

node "half" {
  cluster = cluster.half
  role    = "control-plane"
  address = "192.0.2.81"
}

node "whole" {
  cluster = cluster.whole
  role    = "control-plane"
  address = "192.0.2.82"
}

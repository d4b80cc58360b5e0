cluster "c" {
  kubernetes_version = "1.36.3"
  image_repository   = "https://registry.example.com" # ERROR: Invalid image repository
  image_pull_policy  = "always"                       # ERROR: Invalid image pull policy
  cluster_name       = "a@b"                          # ERROR: Invalid cluster name

  api_server {
    cert_sans = ["api.example.com:6443"] # ERROR: Invalid certificate name

    arg "--v" { value = "4" }                               # ERROR: Argument name with dashes
    arg "v=4" { value = "" }                                # ERROR: Argument name with a value
    arg "a b" { value = "" }                                # ERROR: Invalid argument name
    arg "audit-log-maxagee" { value = "30" }                # ERROR: Unknown argument
    arg "v" { value = "1\n2" }                              # ERROR: Invalid argument value
    arg "" { value = "" }                                   # ERROR: Empty label
    arg "tls-min-version" { value = "TLS1.3" }              # ERROR: Invalid argument value
    arg "tls-cipher-suites" { value = "TLS_AES_128_GCM" }   # ERROR: Unknown cipher suite
    arg "feature-gates" { value = "AllAlpha=false,B" }              # ERROR: Invalid feature gates

    extra_volume "One" { # ERROR: Invalid volume name
      host_path  = "relative" # ERROR: Path is not absolute
      mount_path = "/a/../b"  # ERROR: Path is not plain
      path_type  = "file"     # ERROR: Invalid path type
    }

    extra_volume "two" {
      host_path  = "/a"
      mount_path = "/a"
    }

    extra_volume "three" {
      host_path  = "/b"
      mount_path = "/a" # ERROR: Mount path used twice
    }

    extra_env "A=B" { value = "1" } # ERROR: Invalid environment variable

    extra_env "X" {
      value      = "1"
      value_from = { fieldRef = { fieldPath = "status.hostIP" } } # ERROR: Conflicting values
    }

    extra_env "Y" {
      value_from = { fieldref = { fieldPath = "status.hostIP" } } # ERROR: Unknown field
    }
  }

  etcd {
    data_dir = "var/lib/etcd" # ERROR: Path is not absolute
    image_tag = "a b"         # ERROR: Invalid image tag
    arg "tls-min-version" { value = "VersionTLS12" } # ERROR: Invalid argument value
  }

  controller_manager {
    arg "feature-gates" { value = "AllAlpha=false,kube:ContextualLogging=true" }
    arg "feature-gates" { value = "ContextualLoging=true" } # ERROR: Unknown feature gate
  }

  scheduler {
    arg "feature-gates" { value = "AtomicFIFO=true,NoSuchGate=false" } # ERROR: Unknown feature gate
    arg "tls-cipher-suites" { value = "TLS_RSA_WITH_RC4_128_SHA" } # WARNING: Insecure cipher suite # ERROR: Arguments do not go together
  }

  dns {
    image_repository = "registry.example.com/"
  }

  proxy_env = { HTTP_PROXI = "x" } # ERROR: Unknown proxy variable
}

node "cp" {
  cluster = cluster.c
  role    = "control-plane"
  address = "10.0.0.1"
}

cluster "d" {
  kubernetes_version = "1.36.3"
  image_repository   = "registry.example.com/Kubernetes:v1" # ERROR: Invalid image repository

  api_server {
    cert_sans = ["[fd00::1]"] # ERROR: Invalid certificate name
  }

  upgrade {
    pool "all" {
      selector = " " # ERROR: Invalid label selector
    }
  }

  addon "twice" {
    manifest = "{apiVersion: v1, kind: Namespace, metadata: {name: a}}\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: a}}" # ERROR: Object given twice
  }

  addon "again" {
    manifest = "{apiVersion: v1, kind: Namespace, metadata: {name: a}}" # ERROR: Object given twice
  }
}

node "d" {
  cluster = cluster.d
  role    = "control-plane"
  address = "10.0.0.2"
}

# Values are read as the component reads them.
cluster "e" {
  kubernetes_version = "1.36.3"

  api_server {
    arg "audit-log-maxage" { value = "thirty" }                            # ERROR: Invalid argument value
    arg "audit_log_maxsize" { value = "1.5" }                              # ERROR: Invalid argument value
    arg "audit-log-maxbackup" { value = "" }                               # ERROR: Invalid argument value
    arg "authorization-mode" { value = "Foo" }                             # ERROR: Invalid argument value
    arg "authorization-mode" { value = "Node,RBAC" }
    arg "enable-admission-plugins" { value = "NodeRestriction,Nope" }      # ERROR: Invalid argument value # ERROR: Arguments do not go together
    arg "disable-admission-plugins" { value = "Nope" }                     # ERROR: Invalid argument value
    arg "service-node-port-range" { value = "abc" }                        # ERROR: Invalid argument value
    arg "service-node-port-range" { value = "1-65536" }                    # ERROR: Invalid argument value
    arg "audit-log-format" { value = "jsonn" }                             # ERROR: Invalid argument value
    arg "bind-address" { value = "here" }                                  # ERROR: Invalid argument value
    arg "goaway-chance" { value = "few" }                                  # ERROR: Invalid argument value
    arg "event-ttl" { value = "1d" }                                       # ERROR: Invalid argument value
    arg "log-text-info-buffer-size" { value = "x" }                        # ERROR: Invalid argument value # ERROR: Arguments do not go together
    arg "tls-curve-preferences" { value = "23,P256" }                      # ERROR: Invalid argument value
    arg "tls-sni-cert-key" { value = "a.crt" }                             # ERROR: Invalid argument value
    arg "etcd-servers-overrides" { value = "a\"b" }                        # ERROR: Invalid argument value
    arg "oidc-signing-algs" { value = "a\"b" }                             # ERROR: Invalid argument value # ERROR: Arguments do not go together
    arg "oidc-required-claim" { value = "claim" }                          # ERROR: Invalid argument value # ERROR: Arguments do not go together
    arg "max-requests-inflight" { value = "$(INFLIGHT)" }
    arg "advertise-address" { value = "$(POD_IP)" }
    arg "service-cluster-ip-range" { value = sensitive("S-range") } # ERROR: Invalid argument value
    arg "storage-media-type" { value = sensitive("S-type") }               # ERROR: Invalid argument value
    arg "shutdown-delay-duration" { value = sensitive("S-delay") }         # ERROR: Invalid argument value
  }

  controller_manager {
    arg "leader-elect" { value = "perhaps" }                               # ERROR: Invalid argument value
    arg "concurrent-deployment-syncs" { value = "3000000000" }             # ERROR: Invalid argument value
    arg "controllers" { value = "*,-ttl,-bootstrapsigner,ttl-contrller" }  # ERROR: Invalid argument value
    arg "tls-cipher-suites" { value = "TLS_X" }                            # ERROR: Unknown cipher suite
  }

  scheduler {
    arg "v" { value = "loud" } # ERROR: Invalid argument value
  }

  etcd {
    arg "heartbeat-interval" { value = "ten" }                             # ERROR: Invalid argument value
    arg "election-timeout" { value = "-1" }                                # ERROR: Invalid argument value
    arg "quota-backend-bytes" { value = "8G" }                             # ERROR: Invalid argument value
    arg "listen-metrics-urls" { value = "0.0.0.0:2381" }                   # ERROR: Invalid argument value
    arg "feature-gates" { value = "InitialCorruptCheck=true,NoSuchGate=1" } # ERROR: Unknown feature gate
    arg "feature-gates" { value = "FastLeaseKeepAlive=true" }              # ERROR: Unknown feature gate
  }

  kubelet {
    arg "max-pods" { value = "many" }                                      # ERROR: Invalid argument value
    arg "max-pods" { value = "$(MANY)" }                                   # ERROR: Invalid argument value
    arg "kube-reserved" { value = "cpu=1,memory" }                         # ERROR: Invalid argument value
    arg "eviction-hard" { value = "memory.available=200Mi" }               # ERROR: Invalid argument value
    arg "manifest-url-header" { value = "x=y" }                            # ERROR: Invalid argument value
  }
}

node "e" {
  cluster = cluster.e
  role    = "control-plane"
  address = "10.0.0.3"
}

cluster "probes" {
  kubernetes_version = "1.37.1"

  api_server {
    arg "anonymous-auth" { value = "false" } # ERROR: Probes would be refused

    extra_volume "a" {
      host_path  = "/etc/ssl/certs"
      mount_path = "/etc/ssl/certs" # ERROR: Mount path used twice
    }

    extra_volume "b" {
      host_path  = "/srv/pki"
      mount_path = "/etc/kubernetes/pki/" # ERROR: Mount path used twice
    }
  }

  controller_manager {
    extra_volume "c" {
      host_path  = "/srv/controller-manager.conf"
      mount_path = "/etc/kubernetes/controller-manager.conf" # ERROR: Mount path used twice
    }

    extra_volume "k8s-certs" { # in the place of kubeadm's
      host_path  = "/srv/pki"
      mount_path = "/etc/kubernetes/pki"
    }
  }

  scheduler {
    extra_volume "certs" {
      host_path  = "/etc/ssl/certs"
      mount_path = "/etc/ssl/certs"
    }
  }
}

cluster "anonymous" {
  kubernetes_version = "1.37.1"

  api_server {
    arg "anonymous_auth" { value = "F" } # ERROR: Probes would be refused
  }
}

cluster "first" {
  kubernetes_version = "1.37.1"

  api_server {
    arg "anonymous-auth" { value = "false" }
    arg "anonymous-auth" { value = "true" }
  }
}

cluster "both" {
  kubernetes_version = "1.37.1"

  api_server {
    arg "anonymous-auth" { value = "true" } # WARNING: Conflicting arguments
    arg "authentication-config" { value = "/etc/kubernetes/pki/authn.yaml" }
  }
}

node "probes" {
  cluster = cluster.probes
  role    = "control-plane"
  address = "10.9.0.1"
}

node "anonymous" {
  cluster = cluster.anonymous
  role    = "control-plane"
  address = "10.9.0.2"
}

node "first" {
  cluster = cluster.first
  role    = "control-plane"
  address = "10.9.0.3"
}

node "both" {
  cluster = cluster.both
  role    = "control-plane"
  address = "10.9.0.4"
}

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
    arg "tls-min-version" { value = "TLS1.3" }              # ERROR: Invalid TLS version
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
    arg "tls-min-version" { value = "VersionTLS12" } # ERROR: Invalid TLS version
  }

  controller_manager {
    arg "feature-gates" { value = "AllAlpha=false,kube:ContextualLogging=true" }
    arg "feature-gates" { value = "ContextualLoging=true" } # ERROR: Unknown feature gate
  }

  scheduler {
    arg "feature-gates" { value = "AtomicFIFO=true,NoSuchGate=false" } # ERROR: Unknown feature gate
    arg "tls-cipher-suites" { value = "TLS_RSA_WITH_RC4_128_SHA" } # WARNING: Insecure cipher suite
  }

  dns {
    image_repository = "registry.example.com/" # ERROR: Invalid image repository
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

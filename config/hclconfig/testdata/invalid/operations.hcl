cluster "c" {
  kubernetes_version      = "1.36.3"
  skip_phases             = ["addon/kubeproxy", "prefligt", "preflight/x", "certs", "addon/all"] # ERROR: Unknown phase # ERROR: Unknown phase # ERROR: Unknown phase # ERROR: Phase cannot be left out
  ignore_preflight_errors = ["swap", "NumCPUs", "FileAvailable--etc-kubernetes-pki-ca.crt"]      # ERROR: Unknown preflight check # ERROR: Preflight check cannot be ignored

  kernel_modules = ["br-netfilter", "overlay; reboot", "overlay", "overlay"] # ERROR: Invalid kernel module # ERROR: Invalid kernel module # ERROR: Duplicate kernel module

  upgrade {
    max_unavailable = "0" # ERROR: Invalid max_unavailable

    drain {
      timeout      = "-1s" # ERROR: Negative duration
      grace_period = -2    # ERROR: Invalid grace period

      skip_wait_for_delete_timeout = "-1s" # ERROR: Negative duration
      pod_selector = "a in" # ERROR: Invalid label selector
    }
  }

  install {
    keep = ["containerd"] # ERROR: Unknown name in keep
  }

  timeouts {
    discovery = "0s" # ERROR: Timeout is not positive
  }

  reset {
    unmount_flags = ["MNT_FORCED", "MNT_EXPIRE", "UMOUNT_NOFOLLOW"] # ERROR: Unknown unmount flag # ERROR: Unmount flag of no use # ERROR: Unmount flag of no use
  }

  patch { # ERROR: Invalid patch # ERROR: Invalid patch
    target  = "kube-apiservr"
    type    = "stratgic"
    content = "spec: {}"
  }

  patch { # ERROR: Invalid patch
    target  = "etcd"
    content = "- a"
  }

  patch { # ERROR: Invalid patch
    target  = "etcd"
    content = "a: ["
  }

  patch { # ERROR: Invalid patch # ERROR: Invalid patch
    target  = "etcd"
    type    = "json"
    content = "[{op: ad, path: a}]"
  }

  patch { # ERROR: Invalid patch
    target  = "kubeproxydaemonset"
    content = "spec: {}"
  }
}

cluster "mirrored" { # ERROR: Cluster without control plane
  kubernetes_version = "1.36.3"

  install {
    packages {
      key        = "kubernetes.asc"                                  # ERROR: No key of the package repository
      repository = "https://me:secret@mirror.example.com/kubernetes" # ERROR: Credentials in an address
      runtime    = "Containerd!"                                     # ERROR: Invalid package name
      tools      = ["kubelet"]                                       # ERROR: Unknown tool
    }
  }
}

cluster "mirrored_too" { # ERROR: Cluster without control plane
  kubernetes_version = "1.36.3"

  install {
    packages {
      key        = "-----BEGIN PGP PRIVATE KEY BLOCK-----" # ERROR: Private key given
      repository = "mirror.example.com"                    # ERROR: Invalid package repository
    }
  }
}

node "cp" {
  cluster                 = cluster.c
  role                    = "control-plane"
  address                 = "10.0.0.1"
  ignore_preflight_errors = ["all", "Swap"] # ERROR: Conflicting preflight checks

  patch { # ERROR: Invalid patch
    target  = "corednsdeployment"
    content = "spec: {}"
  }
}

cluster "keyless" { # ERROR: Cluster without control plane
  kubernetes_version = "1.36.3"

  install {
    packages { # ERROR: Missing required argument
    }
  }
}

cluster "inward" { # ERROR: Cluster without control plane
  kubernetes_version = "1.36.3"

  install {
    packages {
      key        = "kubernetes.asc"                              # ERROR: No key of the package repository
      repository = "http://169.254.169.254/latest/user-data" # ERROR: Invalid package repository
    }
  }
}

cluster "loopback" { # ERROR: Cluster without control plane
  kubernetes_version = "1.36.3"

  install {
    packages {
      key        = "kubernetes.asc"          # ERROR: No key of the package repository
      repository = "http://127.1/kubernetes" # ERROR: Invalid package repository
    }
  }
}

cluster "emptied" { # ERROR: Cluster without control plane
  kubernetes_version = "1.36.3"

  upgrade {
    max_unavailable = "101%" # ERROR: Invalid max_unavailable
  }

  install {
    packages {
      key        = ""                                        # ERROR: Empty value
      repository = "https://mirror.example.com/kubernetes?x" # ERROR: Invalid package repository
    }
  }
}

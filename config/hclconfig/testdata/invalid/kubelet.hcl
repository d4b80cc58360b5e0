cluster "c" {
  kubernetes_version = "1.35.8"

  kubelet {
    arg "hostname-override" { value = "x" } # ERROR: Node name as an argument

    config = {
      apiVersion          = "kubelet.config.k8s.io/v1" # ERROR: Wrong kind of configuration
      maxpods             = 200                        # ERROR: Unknown field
      healthzPort         = 70000                      # ERROR: Value out of range
      maxPods             = -1                         # ERROR: Value out of range
      syncFrequency       = 30                         # ERROR: Value of the wrong type
      failSwapOn          = "no"                       # ERROR: Value of the wrong type
      clusterDNS          = "10.96.0.10"               # ERROR: Value of the wrong type
      cgroupDriver        = "systemD"                  # ERROR: Invalid value
      tlsMinVersion       = "1.3"                      # ERROR: Invalid value
      tlsCipherSuites     = ["TLS_X"]                  # ERROR: Unknown cipher suite
      readOnlyPort        = 10255                      # WARNING: Insecure setting
      rotateCertificates  = false                      # WARNING: Setting has no effect
      staticPodPath       = "/etc/manifests"           # ERROR: Field belongs elsewhere
      containerRuntimeEndpoint = "unix:///run/x.sock"  # ERROR: Field belongs elsewhere
      tlsCurvePreferences = [29]                       # ERROR: Unknown field
      authentication = {
        anonymous = { enabeld = true } # ERROR: Unknown field
      }
      evictionHard = {
        "memory.available" = "lots" # ERROR: Invalid eviction threshold
        "memory.avail"     = "5%"   # ERROR: Unknown eviction signal
      }
      systemReserved                  = { cpu = "half" } # ERROR: Invalid quantity
      imageGCHighThresholdPercent     = 50               # ERROR: Values contradict each other
      shutdownGracePeriod             = "10s"
      shutdownGracePeriodCriticalPods = "20s" # ERROR: Values contradict each other
      maxParallelImagePulls           = 5
      enforceNodeAllocatable          = ["pod"] # ERROR: Invalid value
    }
  }

  kube_proxy {
    config = {
      mode               = "ebpf"   # ERROR: Invalid value
      hostnameOverride   = "x"      # ERROR: Field belongs elsewhere
      conntrack          = { maxPerCoer = 1 } # ERROR: Unknown field
      metricsBindAddress = "localhost:1" # ERROR: Invalid address
    }
  }
}

cluster "d" {
  kubernetes_version = "1.36.3"

  kube_proxy {
    enabled = false
    config  = { mode = "ipvs" } # WARNING: Deprecated proxy mode # WARNING: Setting has no effect
  }
}

node "cp" {
  cluster = cluster.c
  role    = "control-plane"
  address = "10.0.0.1"

  kubelet {
    config = { podCidr = "10.0.0.0/24" } # ERROR: Unknown field
  }
}

cluster "e" {
  kubernetes_version = "1.36.3"

  kubelet {
    config = { shutdownGracePeriod = "30s" }
  }
}

node "e" {
  cluster = cluster.e
  role    = "control-plane"
  address = "10.0.0.3"

  kubelet {
    config = { shutdownGracePeriodCriticalPods = "10s" }
  }
}

node "f" {
  cluster = cluster.e
  role    = "worker"
  address = "10.0.0.4"

  kubelet {
    config = { shutdownGracePeriodCriticalPods = "1m" } # ERROR: Values contradict each other
  }
}

node "d" {
  cluster = cluster.d
  role    = "control-plane"
  address = "10.0.0.2"
}

# What the kubelet checks of its flags and feature gates when it starts.
cluster "g" {
  kubernetes_version = "1.36.3"

  kubelet {
    arg "node-labels" { value = "pool=batch,node-role.kubernetes.io/worker=" } # ERROR: Label is not the kubelet's to set
    arg "register-with-taints" { value = "dedicated=batch:NoSchedule,x=y:NoRun" } # ERROR: Invalid taint

    config = {
      featureGates = {
        AllAlpha           = false
        NodeSwap           = false # ERROR: Feature gate is locked
        MemoryQos          = true  # ERROR: Unknown feature gate
        EnvFiles           = true
      }
    }
  }

  kube_proxy {
    config = { featureGates = { NoSuchGate = true } } # ERROR: Unknown feature gate
  }

  etcd {
    arg "tls-min-version" { value = "TLS1.3" } # ERROR: Arguments do not go together
    arg "tls-max-version" { value = "TLS1.2" }
    arg "cipher-suites" { value = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256" } # ERROR: Arguments do not go together
  }
}

node "g" {
  cluster = cluster.g
  role    = "control-plane"
  address = "10.0.0.7"
}

node "h" {
  cluster = cluster.g
  role    = "worker"
  address = "10.0.0.8"

  kubelet {
    arg "node-labels" { value = "pool,=x,node.kubernetes.io/a=b,a b=c,d=e f" } # ERROR: Invalid node label # ERROR: Invalid node label # ERROR: Invalid node label # ERROR: Invalid argument value
    arg "register-with-taints" { value = "a:b:NoSchedule,a b:NoExecute,k=v w:NoExecute" } # ERROR: Invalid taint # ERROR: Invalid taint # ERROR: Invalid taint # ERROR: Invalid argument value
  }
}

# What depends on each other, and values that are none of their type.
cluster "i" {
  kubernetes_version = "1.36.3"

  kubelet {
    config = {
      shutdownGracePeriod              = "10s"
      shutdownGracePeriodByPodPriority = [{ priority = 0, shutdownGracePeriodSeconds = 5 }] # ERROR: Values contradict each other
      maxParallelImagePulls            = 5                                                  # ERROR: Values contradict each other
      serializeImagePulls              = true
      evictionHard                     = { "nodefs.available" = "120%" }                               # ERROR: Invalid eviction threshold
      maxPods                          = 1.5                                                           # ERROR: Value of the wrong type
      podsPerCore                      = 5000000000                                                    # ERROR: Value of the wrong type
      authentication                   = { anonymous = { enabled = "no" } } # ERROR: Value of the wrong type
      reservedMemory                   = [{ numaNode = 0, limits = { memory = "lots" } }] # ERROR: Value of the wrong type
    }
  }
}

node "i" {
  cluster = cluster.i
  role    = "control-plane"
  address = "10.0.0.9"
}

node "j" {
  cluster = cluster.e
  role    = "worker"
  address = "10.0.0.10"

  kubelet {
    config = { imageGCLowThresholdPercent = 90 } # ERROR: Values contradict each other
  }
}

# Patches of the kubelet's configuration get the same checks as the value of config.
cluster "k" {
  kubernetes_version = "1.35.8"

  patch { # ERROR: Value of the wrong type # ERROR: Unknown field
    target  = "kubeletconfiguration"
    content = "maxPods: many\nserializeImagePulz: true\n"
  }

  patch { # ERROR: Value of the wrong type # ERROR: Value out of range # ERROR: Unknown field
    target  = "kubeletconfiguration"
    type    = "merge"
    content = jsonencode({ authentication = { anonymous = { enabled = "no" } }, healthzPort = 70000, tlsCurvePreferences = [], registryPullQPS = null })
  }

  patch {
    target  = "kubeletconfiguration"
    content = "evictionHard: {$patch: replace, memory.available: 200Mi}\nclusterDNS: null\n"
  }
}

node "k" {
  cluster = cluster.k
  role    = "control-plane"
  address = "10.0.0.11"

  patch { # ERROR: Value of the wrong type
    target  = "kubeletconfiguration"
    content = "maxPods: [1]"
  }
}

# What the kubelet checks of values beside others, and kube-proxy of its own.
cluster "l" {
  kubernetes_version = "1.36.3"

  kubelet {
    config = {
      evictionSoft = {
        "memory.available"  = "10%"
        "nodefs.available"  = "15%" # ERROR: Grace period is missing
        "pid.available"     = "0%"
        "nodefs.inodesFree" = "0" # ERROR: Invalid eviction threshold # ERROR: Grace period is missing
        "disk.full"         = "5%" # ERROR: Unknown eviction signal
      }
      evictionSoftGracePeriod = {
        "memory.available" = "1m30s"
        "pid.available"    = "90" # ERROR: Invalid grace period
      }
      evictionMinimumReclaim = { "memory.available" = "0" }
      kubeReserved           = { bar = "1", cpu = "-1", pid = "1000" } # ERROR: Unknown resource # ERROR: Invalid quantity
      systemReserved         = { ephemeral-storag = "1Gi" }            # ERROR: Unknown resource

      kubeAPIQPS                  = -1                                         # ERROR: Value out of range
      cpuCFSQuotaPeriod           = "2s"                                       # ERROR: Value out of range
      containerLogMonitorInterval = "1s"                                       # ERROR: Value out of range
      imageMaximumGCAge           = "1m"                                       # ERROR: Values contradict each other
      registerWithTaints          = [{ key = "a b", effect = "NoRun" }]        # ERROR: Invalid taint
      runOnce                     = true                                       # ERROR: Invalid value
      podLogsDir                  = "/var/log/../pods"                         # ERROR: Path is not plain
      systemCgroups               = "/system"                                  # ERROR: Values contradict each other
      enableSystemLogHandler      = false
      enableSystemLogQuery        = true                                       # ERROR: Values contradict each other
      reservedSystemCPUs          = "0-1"                                      # ERROR: Values contradict each other
      kubeReservedCgroup          = "/kube"
      preloadedImagesVerificationAllowlist = ["registry.example.com/*"]        # ERROR: Values contradict each other
      enforceNodeAllocatable = ["pods", "pods", "system-reserved", "system-reserved-compressible"] # ERROR: Values contradict each other # ERROR: Values contradict each other # ERROR: Values contradict each other
      cgroupsPerQOS          = false                                           # ERROR: Values contradict each other
    }
  }

  kube_proxy {
    config = {
      bindAddress       = "x"                                # ERROR: Invalid address
      clusterCIDR       = "foo"                              # ERROR: Invalid subnet
      nodePortAddresses = ["primary", "10.0.0.0/8", "local"] # ERROR: Invalid subnet # ERROR: Invalid value
      configSyncPeriod  = "-1s"                              # ERROR: Value out of range
      iptables          = { minSyncPeriod = "1m" }           # ERROR: Values contradict each other
    }
  }
}

node "l" {
  cluster = cluster.l
  role    = "control-plane"
  address = "10.0.0.12"
}

cluster "m" {
  kubernetes_version = "1.36.3"

  kubelet {
    config = {
      enforceNodeAllocatable = ["none", "pods"] # ERROR: Values contradict each other
      evictionSoft           = { "memory.available" = "10%" }
      evictionSoftGracePeriod = { "memory.available" = "1m30s" }
    }
  }

  kube_proxy {
    config = {
      mode            = "ipvs"                                                    # WARNING: Deprecated proxy mode
      clusterCIDR     = "foo"
      detectLocalMode = "BridgeInterface"                                         # ERROR: Values contradict each other
      ipvs            = { minSyncPeriod = "30s", excludeCIDRs = ["10.0.0.1"] } # ERROR: Invalid subnet
    }
  }
}

node "m" {
  cluster = cluster.m
  role    = "control-plane"
  address = "10.0.0.13"
}

# The grace period that a node adds is enough for it.
node "n" {
  cluster = cluster.m
  role    = "worker"
  address = "10.0.0.14"

  kubelet {
    config = { evictionSoft = { "nodefs.available" = "15%" }, evictionSoftGracePeriod = { "nodefs.available" = "1m" } }
  }
}

cluster "o" {
  kubernetes_version = "1.37.1"

  kube_proxy {
    config = {
      nodePortAddresses = ["localhost", "all"]
      nftables          = { minSyncPeriod = "5m" } # of a mode that is not in use
    }
  }
}

node "o" {
  cluster = cluster.o
  role    = "control-plane"
  address = "10.0.0.15"

  kubelet {
    arg "cert-dir" { value = "/srv/kubelet" } # ERROR: Folder of certificates as an argument
    arg "cert-dir" { value = "/var/lib/kubelet/pki/" }
  }
}

cluster "p" {
  kubernetes_version = "1.37.1"

  kubelet {
    config = {
      registerNode = false # ERROR: Field belongs elsewhere
    }
    arg "pod-manifest-path" { value = "/etc/other" }               # ERROR: Folder of static pods as an argument
    arg "pod_manifest_path" { value = "/etc/other" }               # ERROR: Folder of static pods as an argument
    arg "pod-manifest-path" { value = "/etc/kubernetes/manifests/" }
    arg "root-dir" { value = "/srv/kubelet" }                      # ERROR: Folder of the kubelet as an argument
    arg "config" { value = "/etc/kubelet.yaml" }                   # ERROR: Configuration file as an argument
    arg "config-dir" { value = "/etc/kubelet.d" }                  # ERROR: Configuration folder as an argument
    arg "kubeconfig" { value = "/root/.kube/config" }              # ERROR: Kubeconfig as an argument
    arg "bootstrap-kubeconfig" { value = "/root/.kube/config" }    # ERROR: Kubeconfig as an argument
    arg "rotate-certificates" { value = "f" }                      # ERROR: Certificates are not renewed
    arg "rotate-certificates" { value = "true" }
    arg "register-node" { value = "false" }                        # ERROR: Node is not registered
    arg "runonce" { value = "true" }                               # ERROR: Kubelet ends
    arg "version" { value = "true" }                               # ERROR: Kubelet ends
    arg "help" { value = "true" }                                  # ERROR: Kubelet ends
    arg "healthz-port" { value = "10249" }                         # ERROR: Health check as an argument
    arg "healthz-bind-address" { value = "0.0.0.0" }               # ERROR: Health check as an argument
    arg "cgroup-driver" { value = "cgroupfs" }                     # ERROR: Field belongs elsewhere
    arg "cloud-provider" { value = "aws" }                         # ERROR: Cloud provider does not exist
    arg "cloud-provider" { value = "external" }
    arg "cloud-provider" { value = "" }
  }
}

node "p" {
  cluster = cluster.p
  role    = "control-plane"
  address = "10.0.0.16"

  kubelet {
    arg "pod-manifest-path" { value = "/etc/other" }     # ERROR: Folder of static pods as an argument
    arg "volume-plugin-dir" { value = "/opt/a --x=1" }   # ERROR: Invalid argument value
    arg "volume-plugin-dir" { value = "/opt/a\tb" }      # ERROR: Invalid argument value
    arg "volume-plugin-dir" { value = "/opt/a\u00a0b" }  # ERROR: Invalid argument value
    arg "volume-plugin-dir" { value = "/opt/\"a\"" }     # ERROR: Invalid argument value
    arg "volume-plugin-dir" { value = "/opt/it's" }      # ERROR: Invalid argument value
    arg "volume-plugin-dir" { value = "/opt/a\\b" }      # ERROR: Invalid argument value
    arg "volume-plugin-dir" { value = "/opt/a\u0007" }   # ERROR: Invalid argument value
    arg "volume-plugin-dir" { value = "/opt/$HOME/`ä`" } # systemd leaves these as they are
  }
}

node "static" {
  cluster = cluster.p
  role    = "worker"
  address = "10.0.0.17"

  kubelet {
    config = {
      cpuManagerPolicy    = "static" # ERROR: CPUs are not reserved
      memoryManagerPolicy = "Static" # ERROR: Memory is not reserved
    }
  }
}

node "reserved" {
  cluster = cluster.p
  role    = "worker"
  address = "10.0.0.18"

  kubelet {
    config = {
      cpuManagerPolicy    = "static"
      kubeReserved        = { cpu = "500m" }
      memoryManagerPolicy = "Static"
      reservedMemory      = [{ numaNode = 0, limits = { memory = "1124Mi" } }]
    }
  }
}

node "flags" {
  cluster = cluster.p
  role    = "worker"
  address = "10.0.0.19"

  kubelet {
    config = { maxPods = 50, podsPerCore = 10 }
    arg "max-pods" { value = "60" } # WARNING: Argument overrides a field
    arg "pods_per_core" { value = "10" }
    arg "node-status-max-images" { value = "-2" }               # ERROR: Value out of range
    arg "image-gc-high-threshold" { value = "300" }             # ERROR: Value out of range
    arg "eviction-hard" { value = "memory.availabl<200Mi" }     # ERROR: Unknown eviction signal
    arg "eviction-soft" { value = "memory.available<300Mi" }    # ERROR: Grace period is missing
    arg "kube-reserved" { value = "cpus=1" }                    # ERROR: Unknown resource
    arg "cpu-manager-policy" { value = "static" }               # ERROR: CPUs are not reserved
    arg "tls-cert-file" { value = "/srv/kubelet.crt" }          # ERROR: Values contradict each other
    arg "container-log-max-files" { value = "1" }               # ERROR: Value out of range
  }
}

node "flags_that_fit" {
  cluster = cluster.p
  role    = "worker"
  address = "10.0.0.20"

  kubelet {
    arg "cpu-manager-policy" { value = "static" }
    arg "kube-reserved" { value = "cpu=500m" }
    arg "eviction-soft" { value = "memory.available<300Mi" }
    arg "eviction-soft-grace-period" { value = "memory.available=1m30s" }
    arg "tls-cert-file" { value = "/srv/kubelet.crt" }
    arg "tls-private-key-file" { value = "/srv/kubelet.key" }
  }
}

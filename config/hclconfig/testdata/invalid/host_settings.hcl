cluster "c" {
  kubernetes_version = "1.36.3"
  kernel_modules     = ["nf conntrack"] # ERROR: Invalid kernel module

  sysctls = {
    "vm.max_map_count"                   = "0x40000"           # ERROR: Invalid value of a sysctl
    "swappiness"                         = "10"                # ERROR: Invalid sysctl
    "net.core..somaxconn"                = "1024"              # ERROR: Invalid sysctl
    "net.core.somaxconn"                 = "1024"
    "net/core/somaxconn"                 = "2048"              # ERROR: Sysctl given twice
    "vm.swappiness"                      = ""                  # ERROR: Invalid value of a sysctl
    "kernel.core_pattern"                = "|/bin/core\n%e"    # ERROR: Invalid value of a sysctl
    "vm.drop_caches"                     = "3"                 # ERROR: Sysctl cannot be set
    "kernel.yama.ptrace_scope"           = "3"                 # ERROR: Sysctl cannot be set
    "net.ipv4.ip_forward"                = "0"                 # ERROR: Sysctl contradicts Kubernetes
    "net.ipv6.conf.all.forwarding"       = "0"                 # the cluster has no IPv6
    "net.bridge.bridge-nf-call-iptables" = "0"                 # ERROR: Sysctl contradicts Kubernetes
    "vm.overcommit_memory"               = "2"                 # ERROR: Sysctl contradicts Kubernetes
    "net.netfilter.nf_conntrack_max"     = "262144"            # ERROR: Sysctl belongs to another
  }
}

cluster "u" { # ERROR: Cluster without control plane
  kubernetes_version = "1.36.3"

  unit "app" { # ERROR: Invalid unit
    running = true
  }
  unit "swapfile.swap" { # ERROR: Invalid unit
    running = true
  }
  unit "a b.service" { # ERROR: Invalid unit
    running = true
  }
  unit "kubelet.service" {
    drop_in "10-memory" {
      content = "[Service]\nMemoryMin=1G\n"
    }
    drop_in "10-kubeadm" { # ERROR: Drop-in belongs to another
      content = "[Service]\nMemoryMin=1G\n"
    }
    drop_in "20-start" { # ERROR: Drop-in belongs to another
      content = "[Service]\nExecStart=\nExecStart=/usr/bin/kubelet\n"
    }
    drop_in "20-args" { # ERROR: Drop-in belongs to another
      content = "[Service]\nEnvironment=A=b \\\n  KUBELET_EXTRA_ARGS=--v=4\n"
    }
  }
  unit "crio.service" {
    drop_in "20-start" { # ERROR: Drop-in belongs to another
      content = "[Service]\nExecStart=/usr/bin/crio --log-level=debug\n"
    }
  }
  unit "containerd.service" { # ERROR: Unit belongs to another
    running = true
  }
  unit "etcd.service" { # ERROR: Unit belongs to another
    running = false
  }
  unit "sshd.service" { # ERROR: Unit belongs to another
    running = false
  }
  unit "dbus.service" { # ERROR: Unit belongs to another
    running = false
  }
  unit "NetworkManager.service" { # ERROR: Unit belongs to another
    running = false
  }
  unit "systemd-networkd.service" { # ERROR: Unit belongs to another
    running = false
  }
  unit "usr.mount" { # ERROR: Unit belongs to another
    running = true
  }
  unit "multi-user.target" { # ERROR: Unit belongs to another
    running = true
  }
  unit "systemd-timesyncd.service" {
    running = true
  }
  unit "one@.service" { # ERROR: Template cannot run
    enabled = true
  }
  unit "none.service" { # ERROR: Unit without effect
  }
  unit "a.service" {
    content = "ExecStart=/bin/true" # ERROR: Invalid unit file
  }
  unit "b.service" {
    content = "[Unit]\nDescription=b" # ERROR: Invalid unit file
  }
  unit "c.service" {
    content = "[Service]\nwhat" # ERROR: Invalid unit file
  }
  unit "d.service" {
    content = "# nothing" # ERROR: Invalid unit file
  }
  unit "e.service" {
    content = "[Service]\nExecStart=/bin/true" # ERROR: Invalid unit file
    enabled = true
  }
  unit "f.service" {
    content = "[Service]\nType=oneshot\nExecStart=/bin/true \\\n  x" # ERROR: Invalid unit file
    running = true
  }
  unit "srv-data.mount" {
    content = "[Mount]\nWhere=/srv/other" # ERROR: Invalid unit file
  }
  unit "h.service" {
    content = "[Service]\nExecStart=/bin/true\n[Install]\nAlias=kubelet.service" # ERROR: Invalid unit file
  }
  unit "i.service" {
    drop_in "x" {
      content = "[Unit]\nConflicts=a.service sshd.service" # ERROR: Invalid drop-in
    }
  }
  unit "g.service" {
    drop_in "x.conf" { # ERROR: Invalid name of a drop-in
      content = "[Service]\nNice=1"
    }
    drop_in "y" {
      content = "Nice=1" # ERROR: Invalid drop-in
    }
    drop_in "z" {
      content = join("", ["[Service]\n", join("", formatlist("# %s\n", [for i in range(1000) : join("", [for k in range(300) : "x"])]))]) # ERROR: Invalid drop-in
    }
  }
}

node "cp" {
  cluster = cluster.c
  role    = "control-plane"
  address = "10.0.0.1"
  sysctls = { "kernel.hostname" = "other" } # ERROR: Sysctl cannot be set
}

cluster "d" {
  kubernetes_version = "1.36.3"
  sysctls            = { "net.netfilter.nf_conntrack_max" = "262144" }

  kube_proxy {
    config = { conntrack = { maxPerCore = 0 } }
  }
}

node "dcp" {
  cluster        = cluster.d
  role           = "control-plane"
  address        = "10.0.0.2"
  kernel_modules = ["br-netfilter"] # ERROR: Invalid kernel module
}

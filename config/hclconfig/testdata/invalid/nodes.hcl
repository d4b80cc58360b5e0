cluster "c" {
  kubernetes_version = "1.36.3"
}

node "a" {
  cluster             = cluster.c
  role                = "controlplane" # ERROR: Invalid role
  address             = "10.0.0.256"   # ERROR: Invalid node address
  name                = "Node_1"       # ERROR: Invalid node name
  advertise_addresses = ["0.0.0.0"]    # ERROR: Invalid advertise address
  cri_socket          = "/run/containerd/containerd.sock"

  labels = {
    "a b"                                   = "x"     # ERROR: Invalid label key
    "pool"                                  = "a b"   # ERROR: Invalid label value
    "kubernetes.io/hostname"                = "x"     # ERROR: Label belongs to another
  }

  annotations = {
    "a/b/c" = "" # ERROR: Invalid annotation key
  }

  taint "dedicated" { # ERROR: Invalid taint effect
    value  = "x"
    effect = "NoExec"
  }

  taint "a b" { # ERROR: Invalid taint key # ERROR: Invalid taint value
    value  = "x y"
    effect = "NoSchedule"
  }
}

node "b" {
  cluster = cluster.c
  role    = "control-plane"
  address = "cp.example.com" # ERROR: Advertise address is missing

  taints = [ # ERROR: Taint given twice
    { key = "a", effect = "NoSchedule" },
    { key = "a", effect = "NoSchedule", value = "x" },
  ]

  taint "x" { # ERROR: Conflicting taints
    effect = "NoSchedule"
  }
}

node "d" {
  cluster = cluster.c
  role    = "worker"
  address = "10.0.0.4:22" # ERROR: Invalid node address
  labels  = { "node-role.kubernetes.io/control-plane" = "" } # ERROR: Label contradicts the role
}

node "e" {
  cluster             = cluster.c
  role                = "worker"
  address             = "worker.example.com"
  advertise_addresses = ["10.0.0.5", "10.0.0.6"] # ERROR: Invalid advertise address
}

node "f" {
  cluster     = cluster.c
  role        = "worker"
  address     = "10.0.0.7"
  annotations = { note = join("", [for i in range(600) : format("%0500d", i)]) } # ERROR: Annotations are too large
}

node "g" {
  cluster             = cluster.c
  role                = "worker"
  address             = "10.0.0.8/24"       # ERROR: Invalid node address
  advertise_addresses = ["::ffff:10.0.0.8"] # ERROR: Invalid advertise address
}

node "h" {
  cluster = cluster.c
  role    = "worker"
  address = "224.0.0.1" # ERROR: Invalid node address
}

node "i" {
  cluster    = cluster.c
  role       = "worker"
  address    = "10.0.0.9"
  cri_socket = "tcp://127.0.0.1:2375" # ERROR: Invalid CRI socket
}

cluster "a b" { # ERROR: Invalid name
  kubernetes_version = "1.36.3"
}

cluster "c" {
  kubernetes_version = "1.36.3"
  kubernetes_versoin = "1.36.3" # ERROR: Unsupported argument
  netwrok {                     # ERROR: Unsupported block type
  }
}

node "n" {
  cluster = cluster.c
  role    = "control-plane"
  address = "10.0.0.1"
  adress  = "10.0.0.2" # ERROR: Unsupported argument
}

nodes "n" { # ERROR: Unsupported block type
}

cluster "other_names" {
  kubernetes_version = "1.36.3"
  podSubnet          = "10.244.0.0/16" # ERROR: Unsupported argument
  max_unavailable    = 1               # ERROR: Unsupported argument
  scheduler {
    extraArgs = { v = "3" } # ERROR: Unsupported argument
  }
  upload_certificates { # ERROR: Unsupported block type
  }
  drain { # ERROR: Unsupported block type
  }
}

node "other_names" {
  cluster = cluster.other_names
  role    = "control-plane"
  address = "10.0.0.3"
}

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

cluster "c" { # ERROR: Missing required argument
}

node "n" { # ERROR: Missing required argument # ERROR: Missing required argument
  cluster = cluster.c
}

node "m" {
  cluster = cluster.c
  role    = null # ERROR: Missing required argument
  address = ""   # ERROR: Empty value
}

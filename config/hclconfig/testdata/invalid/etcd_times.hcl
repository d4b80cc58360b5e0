# What etcd asks of its times and of what it keeps.
cluster "a" {
  kubernetes_version = "1.36.3"
  etcd {
    arg "heartbeat-interval" { value = "500" }           # ERROR: Values contradict each other
    arg "auto-compaction-retention" { value = "10h30" }  # ERROR: Invalid argument value
  }
}

cluster "b" {
  kubernetes_version = "1.36.3"
  etcd {
    arg "heartbeat-interval" { value = "200" }
    arg "election-timeout" { value = "999" }             # ERROR: Values contradict each other
    arg "auto-compaction-retention" { value = "5" }
  }
}

cluster "c" {
  kubernetes_version = "1.36.3"
  etcd {
    arg "election-timeout" { value = "60000" }           # ERROR: Invalid argument value
    arg "auto-compaction-retention" { value = "-1" }     # ERROR: Invalid argument value
  }
}

cluster "d" {
  kubernetes_version = "1.36.3"
  etcd {
    arg "heartbeat-interval" { value = "0" }             # ERROR: Invalid argument value
    arg "auto-compaction-retention" { value = "90m" }
  }
}

cluster "e" {
  kubernetes_version = "1.36.3"
  etcd {
    arg "heartbeat-interval" { value = "$(BEAT)" }
    arg "election-timeout" { value = "200" }
  }
}

cluster "f" {
  kubernetes_version = "1.36.3"
  etcd {
    arg "heartbeat-interval" { value = "10000" }
    arg "election-timeout" { value = "50000" }
  }
}

node "a" {
  cluster = cluster.a
  role    = "control-plane"
  address = "10.0.0.1"
}

node "b" {
  cluster = cluster.b
  role    = "control-plane"
  address = "10.0.0.2"
}

node "c" {
  cluster = cluster.c
  role    = "control-plane"
  address = "10.0.0.3"
}

node "d" {
  cluster = cluster.d
  role    = "control-plane"
  address = "10.0.0.4"
}

node "e" {
  cluster = cluster.e
  role    = "control-plane"
  address = "10.0.0.5"
}

node "f" {
  cluster = cluster.f
  role    = "control-plane"
  address = "10.0.0.6"
}

cluster "c" {
  kubernetes_version = "1.36.3 # ERROR: Invalid multi-line string # ERROR: Unterminated template string
  network {
    pod_subnet = "10.244.0.0/16"
  }

  cluster_name = "x"
}

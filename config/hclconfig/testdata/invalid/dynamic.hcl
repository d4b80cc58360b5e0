cluster "c" {
  kubernetes_version = "1.36.3"

  api_server {
    dynamic "arg" { # ERROR: Wrong number of labels
      for_each = {}
      content {
        value = arg.value
      }
    }
    dynamic "args" { # ERROR: Unsupported block type
      for_each = {}
      content {}
    }
    dynamic "arg" {
      for_each = 3 # ERROR: Invalid for_each argument
      labels   = [arg.key]
      content {
        value = arg.value
      }
    }
    dynamic "arg" {
      for_each = {}
      iterator = 3 # ERROR: Invalid iterator
      labels   = [arg.key]
      content {
        value = arg.value
      }
    }
    dynamic "arg" { # ERROR: Missing content block
      for_each = {}
      labels   = [arg.key]
    }
    dynamic "arg" {
      for_each = { v = "4" }
      labels   = [arg.key, arg.value] # ERROR: Invalid labels
      content {
        value = arg.value
      }
    }
    dynamic "extra_volume" {
      for_each = ["a", "b"]
      labels   = ["same"]
      content { # ERROR: Duplicate extra_volume block
        host_path  = "/a"
        mount_path = "/${extra_volume.value}"
      }
    }
  }
}

node "cp" {
  cluster = cluster.c
  role    = "control-plane"
  address = "10.0.0.1"
}

cluster "d" {
  kubernetes_version = "1.36.3"

  api_server {
    dynamic "arg" {
      for_each = toset([node.cp.name]) # ERROR: Invalid for_each argument
      labels   = [arg.key]
      content {
        value = "x"
      }
    }
    dynamic "arg" {
      for_each = { v = "4" }
      labels   = [null] # ERROR: Invalid labels
      content {
        value = arg.value
      }
    }
  }

  dynamic "network" { # ERROR: Wrong number of labels
    for_each = ["10.244.0.0/16"]
    labels   = ["pods"]
    content {
      pod_subnet = network.value
    }
  }
}

node "d" {
  cluster = cluster.d
  role    = "control-plane"
  address = "10.0.0.2"
}

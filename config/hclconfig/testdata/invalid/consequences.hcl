# Of a mistake the mistake itself is told, and not what follows from it.
cluster "role" {
  kubernetes_version = "1.36.3"
}

node "role" {
  cluster = cluster.role
  role    = "master" # ERROR: Invalid role
  address = "10.0.0.1"

  connection {
    port    = "abc"  # ERROR: Incorrect attribute value type
    timeout = "soon" # ERROR: Incorrect attribute value type
  }
}

cluster "keyless" {
  kubernetes_version = "1.36.3"

  certificates {
    supplied = "certificates"

    ca {
      certificate = file("ca.crt") # ERROR: Invalid function argument
    }
  }
}

node "keyless" {
  for_each = { a = { address = "10.0.0.2" }, b = { adress = "10.0.0.3" } }
  cluster  = cluster.keyless
  role     = each.key == "a" ? "control-plane" : "worker"
  name     = each.key
  address  = each.value.address # ERROR: Unsupported attribute

  connection {
    port = 0 # ERROR: Invalid port
  }
}

import { # ERROR: Unknown host
  to = cluster.keyless
  id = "10.0.0.2"
}

import { # ERROR: Unknown host
  to = cluster.role
  id = "10.0.0.9:22"
}

policy "misspelt" {
  max_destroy = 2 # ERROR: Unsupported argument
}

policy "negative" { # ERROR: Invalid policy
  max_destroys = -1
}

policy "word" {
  max_destroys = "one" # ERROR: Incorrect attribute value type
}

policy "unquoted" {
  protected = [
    node.role,        # ERROR: Invalid pattern
    node.keyless["a"], # ERROR: Invalid pattern
    "cluster.*",
  ]
}

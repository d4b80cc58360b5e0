cluster "c" {
  kubernetes_version     = "1.36.3"
  control_plane_endpoint = "api.example.com"

  lifecycle {
    ignore_changes = [
      api_server.args["profiling"], # ERROR: Change cannot be ignored
      network.pod_subnet,           # ERROR: Change cannot be ignored
      api_server.arg,               # ERROR: Change cannot be ignored
      kubelet.config,
      1 + 1, # ERROR: Invalid path
    ]

    precondition {
      condition     = cluster.c.kubernetes_version == "1.37.0" # ERROR: Precondition failed
      error_message = "Not yet."
    }

    precondition {
      condition     = cluster.c.kubernetes_version == "1.36.3"
      error_message = "Never said."
    }
  }
}

node "cp" {
  for_each = toset(["10.0.0.1", "10.0.0.2", "10.0.0.3"])
  cluster  = cluster.c
  role     = "control-plane"
  address  = each.key

  lifecycle {
    prevent_destroy = "often" # ERROR: Incorrect attribute value type
    ignore_changes  = labels  # ERROR: Invalid list of paths

    precondition {
      condition     = each.key != "10.0.0.2" # ERROR: Precondition failed
      error_message = "The host ${each.key} is old."
    }
  }
}

check "pool" {
  assert {
    condition     = length(node.cp) == 1 # WARNING: Check failed
    error_message = "There are ${length(node.cp)}."
  }
}

check "nothing" { # ERROR: Check without condition
}

moved {
  from = nod.a # ERROR: Invalid address
  to   = node.cp["10.0.0.1"]
}

moved { # ERROR: Moved object still exists
  from = node.cp["10.0.0.1"]
  to   = node.cp["10.0.0.2"]
}

moved { # ERROR: Move between kinds
  from = node.x
  to   = cluster.c
}

moved { # ERROR: Move to itself
  from = node.y
  to   = node.y
}

moved { # ERROR: Cycle of moves
  from = node.a
  to   = node.b
}

moved { # ERROR: Cycle of moves
  from = node.b
  to   = node.a
}

moved {
  from = node.d["1"]
  to   = node.cp["10.0.0.3"]
}

moved { # ERROR: Ambiguous move
  from = node.d["1"]
  to   = node.f
}

moved { # ERROR: Ambiguous move
  from = node.e
  to   = node.cp["10.0.0.3"]
}

removed { # ERROR: Removed object still exists
  from = cluster.c
}

removed { # ERROR: Conflicting removal
  from        = node.gone
  unreachable = true

  lifecycle {
    destroy = false
  }
}

removed { # ERROR: Conflicting removal
  from        = cluster.gone
  unreachable = true
}

removed { # ERROR: Duplicate removed block
  from = cluster.gone
}

removed {
  from = node.cp[var.key] # ERROR: Invalid address
}

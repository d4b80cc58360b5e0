cluster "c" {
  kubernetes_version = "1.36.3"

  bootstrap_token { # ERROR: Invalid bootstrap token
    token = "ABCDEF.0123456789abcdef"
  }

  bootstrap_token { # ERROR: Invalid bootstrap token # ERROR: Invalid bootstrap token
    ttl     = "1h"
    expires = "tomorrow"
  }

  bootstrap_token { # ERROR: Invalid bootstrap token # ERROR: Invalid bootstrap token
    usages = ["sign"]
    groups = ["system:bootstrappers:x"]
  }

  bootstrap_token { # ERROR: Invalid bootstrap token
    groups = ["system:masters"]
  }

  bootstrap_token {
    token = "aaaaaa.0123456789abcdef"
  }

  bootstrap_token { # ERROR: Invalid bootstrap token
    token = "aaaaaa.abcdef0123456789"
  }
}

node "cp" {
  cluster = cluster.c
  role    = "control-plane"
  address = "10.0.0.1"
}

cluster "d" {
  kubernetes_version = "1.36.3"

  bootstrap_token { # ERROR: Invalid bootstrap token
    ttl = "-1h"
  }
}

node "d" {
  cluster = cluster.d
  role    = "control-plane"
  address = "10.0.0.2"
}

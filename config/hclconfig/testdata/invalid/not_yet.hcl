terraform { # ERROR: Not available in this version
}

moved { # ERROR: Not available in this version
  from = a
}

import { # ERROR: Not available in this version
}

removed { # ERROR: Not available in this version
}

check "c" { # ERROR: Not available in this version
}

module "m" { # ERROR: Not available in this version
}

resource "a" "b" { # ERROR: Not available in this version
}

cluster "c" {
  kubernetes_version = "1.36.3"

  lifecycle { # ERROR: Not available in this version
    prevent_destroy = true
  }
}

node "n" {
  count   = 3 # ERROR: Not available in this version
  cluster = cluster.c
  role    = "control-plane"
  address = "10.0.0.1"
}

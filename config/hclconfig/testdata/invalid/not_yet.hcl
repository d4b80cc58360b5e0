terraform { # ERROR: Not available in this version
}

module "m" { # ERROR: Not available in this version
}

resource "a" "b" { # ERROR: Not available in this version
}

cluster "c" {
  kubernetes_version = "1.36.3"

  lifecycle {
    create_before_destroy = true # ERROR: Not available in this version
  }
}

node "n" {
  count   = 3 # ERROR: Not available in this version
  cluster = cluster.c
  role    = "control-plane"
  address = "10.0.0.1"
}

node "m" {
  depends_on = [node.n] # ERROR: Not available in this version
  cluster    = cluster.c
  role       = "worker"
  address    = "10.0.0.2"

  lifecycle {
    replace_triggered_by = [cluster.c] # ERROR: Not available in this version

    postcondition { # ERROR: Not available in this version
    }
  }
}

provider "p" { # ERROR: Not available in this version
}

data "d" "e" { # ERROR: Not available in this version
}

terraform { # ERROR: Unsupported block type
}

module "m" { # ERROR: Unsupported block type
}

resource "a" "b" { # ERROR: Unsupported block type
}

provider "p" { # ERROR: Unsupported block type
}

data "d" "e" { # ERROR: Unsupported block type
}

helm_release "app" { # ERROR: Unsupported block type
}

backend "s3" { # ERROR: Unsupported block type
}

upgrade { # ERROR: Unsupported block type
}

cluster "c" {
  kubernetes_version = "1.36.3"
  cni                = "flannel"       # ERROR: Unsupported argument
  podSubnet          = "10.244.0.0/16" # ERROR: Unsupported argument
  pod_network_cidr   = "10.244.0.0/16" # ERROR: Unsupported argument
  for_each           = {}              # ERROR: Unsupported argument

  kube_vip { # ERROR: Unsupported block type
  }

  hooks { # ERROR: Unsupported block type
  }

  extraArgs = {} # ERROR: Unsupported argument

  lifecycle {
    create_before_destroy = true # ERROR: Unsupported argument
  }
}

node "n" {
  count   = 3 # ERROR: Unsupported argument
  cluster = cluster.c
  role    = "control-plane"
  address = "10.0.0.${count.index}" # ERROR: Unknown name
}

node "m" {
  depends_on = [node.n] # ERROR: Unsupported argument
  cluster    = cluster.c
  role       = "worker"
  address    = module.network.address # ERROR: Unknown name

  dynamic "provisioner" { # ERROR: Unsupported block type
    for_each = ["a"]
    content {}
  }

  lifecycle {
    replace_triggered_by = [cluster.c] # ERROR: Unsupported argument

    postcondition { # ERROR: Unsupported block type
    }
  }
}

output "workspace" {
  value = terraform.workspace # ERROR: Unknown name
}

cluster "c" {
  kubernetes_version = "1.36.3"
}

connection {
  type    = "telnet" # ERROR: Invalid connection type
  timeout = "0s"     # ERROR: Timeout is not positive
}

node "a" {
  cluster = cluster.c
  role    = "control-plane"
  address = "10.0.0.1"

  connection {
    host     = "ubuntu@10.0.0.1" # ERROR: Invalid host
    port     = 70000             # ERROR: Invalid port
    user     = "a b"             # ERROR: Invalid user
    host_key = "SHA256:abc"      # ERROR: Invalid host key

    bastion { # ERROR: Bastion without host
      host_key = ["10.0.0.9 ssh-ed25519 AAAA", "ssh-ed25519 A*"] # ERROR: Invalid host key # ERROR: Invalid host key
    }
  }
}

node "b" {
  for_each = { x = "10.0.0.2", y = "10.0.0.3" }
  cluster  = cluster.c
  role     = "worker"
  address  = each.value

  connection { # ERROR: Host used twice
    type = "local"
  }
}

node "c" {
  cluster = cluster.c
  role    = "worker"
  address = "10.0.0.4"

  connection {
    type     = "ssh"
    host_key = "AAAAC3NzaC1lZDI1NTE5AAAAIK" # ERROR: Invalid host key
  }
}

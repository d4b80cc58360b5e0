cluster "c" {
  kubernetes_version = "1.36.3"
  network {}
  network {} # ERROR: Duplicate network block

  addon "x" {
    manifest = "{apiVersion: v1, kind: Namespace, metadata: {name: x}}"
  }
  addon "x" { # ERROR: Duplicate addon block
    manifest = "{apiVersion: v1, kind: Namespace, metadata: {name: y}}"
  }
  addon "y" {
    manifest = "{apiVersion: v1, kind: Namespace, metadata: {name: x}}" # ERROR: Object given twice
  }
}

cluster "c" { # ERROR: Duplicate cluster block
  kubernetes_version = "1.36.3"
}

locals {
  a = 1
  hosts = {
    cp1   = "10.0.0.11"
    "cp1" = "10.0.0.12" # ERROR: Duplicate key
    cp2   = { a = 1, (upper("a")) = 2, b = { "${"x"}" = 1, x = 2 } } # ERROR: Duplicate key
    1     = "10.0.0.14"
    "1"   = "10.0.0.15" # ERROR: Duplicate key
    (local.a) = "10.0.0.16"
  }
}

locals {
  a = 2 # ERROR: Duplicate local value
}

variable "v" {
  default = 1
}

variable "v" { # ERROR: Duplicate variable block
  default = 1
}

connection {}
connection {} # ERROR: Duplicate connection block

node "n" {
  cluster = cluster.c
  role    = "control-plane"
  address = "10.0.0.1"
  name    = "one"
}

node "m" {
  cluster = cluster.c
  role    = "worker"
  address = "10.0.0.1" # ERROR: Node address used twice
  name    = "one"      # ERROR: Node name used twice
}

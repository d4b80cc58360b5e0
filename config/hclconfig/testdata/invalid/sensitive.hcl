variable "secret" { # ERROR: Invalid value for variable
  default   = "s"
  sensitive = true

  validation {
    condition     = length(var.secret) > 3
    error_message = "The secret ${var.secret} is too short."
  }
}

cluster "c" {
  kubernetes_version = "1.36.3"
}

node "cp" {
  cluster = cluster.c
  role    = "control-plane"
  address = "10.0.0.1"
}

output "o" {
  value = upper(var.secret) # ERROR: Output refers to sensitive values
}

node "w" {
  cluster = cluster.c
  role    = "worker"
  address = "${var.name}.example.com" # ERROR: Value cannot be sensitive
}

variable "name" {
  default   = "worker-of-the-night"
  sensitive = true
}

cluster "named" {
  kubernetes_version = "1.36.3"

  addon "secret" { # ERROR: Name cannot be sensitive
    manifest = yamlencode({ apiVersion = "v1", kind = "Namespace", metadata = { name = var.name } })
  }
}

node "n" {
  cluster = cluster.named
  role    = "control-plane"
  address = "10.0.0.2"
}

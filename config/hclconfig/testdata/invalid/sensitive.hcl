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

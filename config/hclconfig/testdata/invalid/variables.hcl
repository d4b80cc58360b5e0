variable "required" { # ERROR: No value for required variable
}

variable "wrong" {
  type    = number
  default = "many" # ERROR: Invalid default value for variable
}

variable "notnull" {
  nullable = false
  default  = null # ERROR: Invalid default value for variable
}

variable "made" {
  default = var.wrong # ERROR: Variables not allowed
}

variable "type" {
  type = strin # ERROR: Invalid type specification
}

variable "checked" {
  default = 1

  validation { # ERROR: Missing required argument
    condition = var.checked > 0
  }
}

variable "failing" { # ERROR: Invalid value for variable
  default = 1

  validation {
    condition     = var.failing > 1
    error_message = "It must be more than 1."
  }
}

cluster "c" {
  kubernetes_version = "1.36.3"
  bind_port          = var.wrong
  cluster_name       = var.required
}

node "cp" {
  cluster = cluster.c
  role    = "control-plane"
  address = "10.0.0.1"
}

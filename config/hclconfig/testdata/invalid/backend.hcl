variable "place" {
  default = "prod"
}

kubewright {
  backend "s3" {
    bucket = var.place       # ERROR: Only literals here
    key    = lower("STATES") # ERROR: Only literals here

    use_path_style = "perhaps" # ERROR: Incorrect attribute value type
  }

  backend "http" { # ERROR: Duplicate backend block
    address = "https://states.example.com/prod"
  }

  dynamic "backend" { # ERROR: Dynamic block not allowed
    for_each = ["pg"]
    labels   = [backend.value]
    content {}
  }
}

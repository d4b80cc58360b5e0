variable "key" {
  default = "age1x"
}

kubewright {
  encryption {
    recipients = [var.key] # ERROR: Variables not allowed
  }
}

policy "empty" { # ERROR: Policy without a rule
}

policy "other" {
  cluster      = cluster.absent # ERROR: Reference to undeclared cluster
  max_destroys = "many"         # ERROR: Incorrect attribute value type
  protected    = ["node.x"]
}

policy "patterns" { # ERROR: Invalid pattern
  protected = ["worker"]
}

policy "times" {
  freeze "none" { # ERROR: Invalid freeze
  }

  freeze "half" { # ERROR: Invalid freeze
    from = "22:00"
  }

  freeze "mixed" { # ERROR: Invalid freeze
    from = "fri 16:00"
    to   = "2026-01-01"
  }

  freeze "zone" { # ERROR: Invalid freeze
    weekdays  = ["sat"]
    time_zone = "Berlin"
  }

  freeze "local" { # ERROR: Invalid freeze
    weekdays  = ["sat"]
    time_zone = "Local"
  }

  freeze "day" { # ERROR: Invalid freeze
    weekdays = ["someday"]
  }

  freeze "hour" { # ERROR: Invalid freeze
    from = "25:00"
    to   = "7 pm"
  }

  freeze "both" { # ERROR: Invalid freeze
    weekdays = ["sat"]
    from     = "fri 16:00"
    to       = "sun 10:00"
  }

  freeze "backwards" { # ERROR: Invalid freeze
    from = "2026-02-01"
    to   = "2026-01-01"
  }

  freeze "week" { # ERROR: Invalid freeze
    from = "fri 16:00"
    to   = "fri 16:00"
  }

  approval { # ERROR: Invalid approval
    approvers = 2
  }
}

policy "nobody" {
  approval { # ERROR: Invalid approval
    approvers = 0
  }
}

policy "names" {
  approval { # ERROR: Invalid approval
    approvers = 2
    file      = "approvals"
    names     = ["ann"]
  }
}

policy "path" {
  approval { # ERROR: Invalid approval
    file = "../approvals"
  }
}

policy "moments" {
  freeze "never" { # ERROR: Invalid freeze
    from = "2026-01-01"
    to   = "2026-01-01"
  }

  approval { # ERROR: Invalid approval
    names = ["ann"]
  }
}

policy "negative" { # ERROR: Invalid policy
  max_destroys = -1
}

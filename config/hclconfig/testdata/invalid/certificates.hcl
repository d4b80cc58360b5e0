cluster "c" {
  kubernetes_version = "1.36.3"
  upload_certs       = true

  certificates {
    dir          = "pki"      # ERROR: Path is not absolute
    algorithm    = "RSA-1024" # ERROR: Unknown key algorithm
    validity     = "90000h"   # ERROR: Certificates outlive their CA # WARNING: Long validity
    renew_before = "90000h"   # ERROR: Certificates are always due
    supplied     = "supplied" # ERROR: Nothing to be supplied
  }
}

cluster "d" {
  kubernetes_version = "1.36.3"
  upload_certs       = true # ERROR: Certificates cannot be uploaded

  certificates {
    validity    = "0s" # ERROR: Duration is not positive
    ca_validity = "876000h"

    ca { # ERROR: CA without key
      certificate = "ca.crt" # ERROR: Invalid CA certificate
    }

    front_proxy_ca {
      certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n" # ERROR: Invalid CA certificate
      on_hosts    = true                                                             # ERROR: CA without key
    }
  }
}

node "c" {
  cluster = cluster.c
  role    = "control-plane"
  address = "10.0.0.1"
}

node "d" {
  cluster = cluster.d
  role    = "control-plane"
  address = "10.0.0.2"
}

cluster "e" {
  kubernetes_version = "1.36.3"
  certificate_key    = "0123456789abcdef" # ERROR: Invalid certificate key # WARNING: Certificate key is not used

  certificates {
    dir      = "/etc/kubernetes:/pki" # ERROR: Path holds a colon
    supplied = "../elsewhere"         # ERROR: Cannot read the supplied certificates # ERROR: Nothing to be supplied
  }
}

node "e" {
  cluster = cluster.e
  role    = "control-plane"
  address = "10.0.0.3"
}

cluster "f" {
  kubernetes_version = "1.36.3"

  certificates {
    renew_before = "0s" # ERROR: Duration is not positive
  }
}

node "f" {
  cluster = cluster.f
  role    = "control-plane"
  address = "10.0.0.4"
}

cluster "g" {
  kubernetes_version = "1.36.3"

  certificates {
    ca_validity = "175200h" # WARNING: Long validity
  }
}

node "g" {
  cluster = cluster.g
  role    = "control-plane"
  address = "10.0.0.5"
}

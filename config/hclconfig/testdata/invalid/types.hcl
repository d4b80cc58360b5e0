cluster "c" {
  kubernetes_version = ["1.36.3"] # ERROR: Incorrect attribute value type
  bind_port          = 1.5        # ERROR: Incorrect attribute value type
  upload_certs       = "maybe"    # ERROR: Incorrect attribute value type
  feature_gates      = { a = 1 }  # ERROR: Incorrect attribute value type

  network {
    pod_subnet = null
  }

  kubelet {
    config = "maxPods: 200" # ERROR: Incorrect attribute value type
  }

  certificates {
    validity    = "365d" # ERROR: Incorrect attribute value type
    ca_validity = 10     # ERROR: Incorrect attribute value type
  }

  api_server {
    cert_sans = [null] # ERROR: Incorrect attribute value type
  }

  addon "x" {
    manifest = { a = 1 } # ERROR: Incorrect attribute value type
  }

  addon "y" {
    manifest = "a: [" # ERROR: Invalid manifest
  }

  addon "list" {
    manifest = "{apiVersion: v1, kind: List, items: [{kind: Pod}]}" # ERROR: Invalid manifest
  }

  addon "z" {
    manifest = "kind: Pod" # ERROR: Invalid manifest
  }
}

node "n" {
  cluster = cluster.c
  role    = "control-plane"
  address = "10.0.0.1"
  labels  = { a = ["b"] }                              # ERROR: Incorrect attribute value type
  taints  = [{ key = "a", efect = "NoSchedule" }]      # ERROR: Incorrect attribute value type
}

cluster "d" {
  kubernetes_version = "1.36.3"
  bind_port          = 5000000000 # ERROR: Incorrect attribute value type

  addon "none" {
    manifest = "# nothing\n" # ERROR: Invalid manifest
  }

  addon "text" {
    manifest = "- a" # ERROR: Invalid manifest
  }

  addon "generated" {
    manifest = "{apiVersion: v1, kind: Pod, metadata: {generateName: a-}}" # ERROR: Invalid manifest
  }

  addon "field" {
    manifest = "{apiVersion: v1, kind: Namespace, metadata: {name: a}, spek: {}}" # ERROR: Invalid manifest
  }
}

node "d" {
  cluster = cluster.d
  role    = "control-plane"
  address = "10.0.0.2"
}

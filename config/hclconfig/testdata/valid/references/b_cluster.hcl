# Clusters refer to nodes and nodes to clusters, in any order, over files.
locals {
  first = keys(node.cp)[0]
}

cluster "c" {
  kubernetes_version     = cluster.other.kubernetes_version
  control_plane_endpoint = "${node.cp[local.first].address}.nip.io"

  network {
    pod_subnet = try(jsondecode("{}").nothing, "10.244.0.0/16")
  }

  api_server {
    cert_sans = sort(concat([for n in node.cp : n.address], values(node.cp)[*].advertise_addresses[0], [node.solo.address]))
  }

  scheduler {
    dynamic "arg" {
      for_each = { for k, n in node.cp : { "192.0.2.1" = "leader-elect-resource-name", "192.0.2.2" = "leader-elect-resource-namespace", "192.0.2.3" = "master" }[k] => n.labels.rack if n.role == "control-plane" }
      iterator = it
      labels   = [it.key]
      content {
        value = it.value
      }
    }
  }
}

cluster "other" {
  kubernetes_version = "1.36.3"

  network {
    service_subnet = "10.97.0.0/16"
  }
}

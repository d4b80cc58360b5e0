cluster "a" {
  kubernetes_version = "1.36.3"

  network {
    pod_subnet     = "10.96.0.0/16" # ERROR: Subnets overlap
    service_subnet = "10.96.0.0/12"
    dns_domain     = "Cluster_local" # ERROR: Invalid DNS domain
  }
}

node "a" {
  cluster = cluster.a
  role    = "control-plane"
  address = "10.96.0.1" # ERROR: Node address inside a subnet of the cluster
}

cluster "b" {
  kubernetes_version = "1.36.3"

  network {
    pod_subnet     = "10.0.0.0/7"    # ERROR: Pod subnet of an unsuitable size
    service_subnet = "172.16.0.0/29" # ERROR: Service subnet of an unsuitable size
  }
}

node "b" {
  cluster = cluster.b
  role    = "control-plane"
  address = "192.0.2.2"
}

cluster "c" {
  kubernetes_version = "1.36.3"

  network {
    pod_subnet     = "10.244.0.0/25" # ERROR: Pod subnet of an unsuitable size
    service_subnet = "172.0.0.0/8"   # ERROR: Service subnet of an unsuitable size
  }
}

node "c" {
  cluster = cluster.c
  role    = "control-plane"
  address = "192.0.2.3"
}

cluster "d" {
  kubernetes_version = "1.36.3"

  network {
    pod_subnet     = "10.244.0.0/24"     # ERROR: Pod subnet of an unsuitable size
    service_subnet = "10.1.0.0/16,fd00::/112" # ERROR: Address families differ
  }
}

node "d" {
  for_each = { cp = "192.0.2.4" }
  cluster  = cluster.d
  role     = "control-plane"
  address  = each.value
}

node "e" {
  cluster = cluster.d
  role    = "worker"
  address = "192.0.2.5"
}

cluster "e" {
  kubernetes_version = "1.36.3"

  network {
    pod_subnet     = "fec0:1::/60,10.200.0.0/16" # WARNING: Deprecated addresses # ERROR: Address families differ
    service_subnet = "10.1.0.1/16"               # WARNING: Subnet with host bits
  }
}

node "f" {
  cluster = cluster.e
  role    = "control-plane"
  address = "fd00::6" # ERROR: Address families differ
}

cluster "f" {
  kubernetes_version = "1.36.3"

  network {
    pod_subnet     = "10.1.0.0/16,10.2.0.0/16" # ERROR: Invalid subnet
    service_subnet = "10.3.0.0"                # ERROR: Invalid subnet
  }
}

node "g" {
  cluster = cluster.f
  role    = "control-plane"
  address = "192.0.2.7"
}

cluster "g" {
  kubernetes_version = "1.36.3"

  network {
    pod_subnet     = "10.244.0.0/16, fd00:1::/56" # ERROR: Invalid subnet
    service_subnet = "::ffff:10.96.0.0/112"       # ERROR: Invalid subnet
  }
}

node "h" {
  cluster = cluster.g
  role    = "control-plane"
  address = "192.0.2.8"
}

cluster "h" {
  kubernetes_version = "1.36.3"

  network {
    pod_subnet = "10.244.0.0/16"
  }

  controller_manager {
    arg "node-cidr-mask-size-ipv4" { value = "64" } # ERROR: Invalid argument
  }
}

node "i" {
  cluster = cluster.h
  role    = "control-plane"
  address = "192.0.2.9"
}

node "j" {
  cluster = cluster.h
  role    = "worker"
  address = "10.96.0.7" # ERROR: Node address inside a subnet of the cluster
}

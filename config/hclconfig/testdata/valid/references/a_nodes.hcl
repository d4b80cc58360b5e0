node "cp" {
  for_each            = toset(["192.0.2.1", "192.0.2.2", "192.0.2.3"])
  cluster             = cluster.c
  role                = "control-plane"
  address             = each.key
  advertise_addresses = ["198.51.100.${split(".", each.value)[3]}"]

  labels = {
    rack = "r${length(node.cp)}"
    dns  = cluster.c.network.dns_domain
    port = tostring(cluster.c.bind_port)
    peer = node.solo.role
    self = node.cp["192.0.2.1"].cluster
  }
}

node "solo" {
  cluster = cluster.other
  role    = "control-plane"
  address = cidrhost("192.0.2.0/24", 9)
  labels  = { (join("-", ["a", "b"])) = upper(cluster.other.cluster_name) }
}

output "service" {
  value = [cluster.other.network.service_subnet, cluster.c.network.service_subnet]
}

output "names" {
  value = { for k, n in node.cp : k => n.name }
}

output "addresses" {
  value = [for n in node.cp : n.address]
}

# kubewright test carries this out on simulated hosts, also with the connection to real ones.

variables {
  simulate = false
}

run "create" {
  command = apply

  assert {
    condition     = plan.add == 8
    error_message = "One cluster, three control planes and four workers are created."
  }
}

run "upgrade" {
  command = apply

  variables {
    kubernetes_version = "1.37.1"
  }

  # The new kubelets are there; until then a plan leaves the old ones.
  edit {
    hosts  = [for n in concat(values(node.cp), values(node.worker)) : n.address]
    change = "install kubelet=1.37.1"
  }

  assert {
    condition     = plan.destroy == 0 && plan.add == 0
    error_message = "An upgrade replaces nothing."
  }

  assert {
    condition     = contains(plan.steps, "cluster.prod/etcd-snapshot")
    error_message = "etcd is saved before the upgrade."
  }

  assert {
    condition     = alltrue([for n in node.worker : hosts[n.address].node.ready && !hosts[n.address].node.unschedulable])
    error_message = "All workers take pods again."
  }
}

run "unchanged" {
  variables {
    kubernetes_version = "1.37.1"
  }

  assert {
    condition     = plan.empty
    error_message = "The upgrade is complete."
  }
}

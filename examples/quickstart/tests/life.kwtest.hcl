# kubewright test carries this out.

run "create" {
  command = apply

  assert {
    condition     = plan.add == 6 && plan.change == 0 && plan.destroy == 0
    error_message = "One cluster and five nodes are created."
  }

  assert {
    condition     = alltrue([for n in node.worker : hosts[n.address].node.labels["node.example.com/pool"] == "general"])
    error_message = "All workers are in the pool general."
  }
}

run "unchanged" {
  assert {
    condition     = plan.empty
    error_message = "A second plan has nothing left to do."
  }
}

run "drift" {
  command = apply

  edit {
    hosts  = node.worker["w1"].address
    change = "yaml /var/lib/kubelet/config.yaml set maxPods=50"
  }

  assert {
    condition     = keys(plan.drift) == ["node.worker[\"w1\"]/kubelet-start/file:/var/lib/kubelet/config.yaml"]
    error_message = "What was changed by hand is shown, and nothing else."
  }

  assert {
    condition     = !strcontains(hosts[node.worker["w1"].address].files["/var/lib/kubelet/config.yaml"].content, "maxPods: 50")
    error_message = "It is corrected."
  }
}

run "downgrade" {
  variables {
    kubernetes_version = "1.35.8"
  }

  expect_findings = ["Version cannot be reached"]
}

variable "secret" {
  default   = "hunter22"
  sensitive = true
}

cluster "c" {
  kubernetes_version = "1.37.1"

  patch { # ERROR: Unknown field # ERROR: Value of the wrong type
    target  = "kube-apiserver"
    content = "spec: {containers: [{name: kube-apiserver, comand: [x]}], priority: high}"
  }

  patch { # ERROR: Unknown field
    target  = "etcd"
    type    = "merge"
    content = "metdata: {annotations: {a: b}}"
  }

  patch { # ERROR: Unknown field
    target  = "corednsdeployment"
    content = "spec: {replica: 3}"
  }

  patch { # ERROR: Value of the wrong type
    target  = "kubeproxydaemonset"
    content = "spec: {template: {spec: {containers: [{name: kube-proxy, resources: {limits: {cpu: ${var.secret}}}}]}}}"
  }

  # What merges, and what is taken away, is no field.
  patch {
    target  = "kube-scheduler"
    content = <<-EOT
      spec:
        $setElementOrder/containers: [{name: kube-scheduler}]
        priorityClassName: null
        containers:
        - name: kube-scheduler
          $retainKeys: [name, livenessProbe, resources]
          livenessProbe: {httpGet: {port: probe-port}, initialDelaySeconds: 10}
          resources: {requests: {cpu: 100m}}
        - name: extra
          $patch: delete
    EOT
  }
}

node "cp" {
  cluster = cluster.c
  role    = "control-plane"
  address = "10.0.0.1"
}

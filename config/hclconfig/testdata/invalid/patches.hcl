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

# What kubewright sets in the kubelet's configuration.
cluster "owned" {
  kubernetes_version = "1.37.1"

  patch { # ERROR: Field belongs elsewhere
    target  = "kubeletconfiguration"
    content = "staticPodPath: /etc/other"
  }

  patch { # ERROR: Field belongs elsewhere
    target  = "kubeletconfiguration"
    type    = "merge"
    content = "staticPodPath: null"
  }

  patch { # ERROR: Field belongs elsewhere # ERROR: Field belongs elsewhere
    target  = "kubeletconfiguration"
    type    = "merge"
    content = "{rotateCertificates: false, registerNode: false}"
  }

  patch {
    target  = "kubeletconfiguration"
    content = "{staticPodPath: /etc/kubernetes/manifests/, registerNode: null, rotateCertificates: true}"
  }
}

node "owned" {
  cluster = cluster.owned
  role    = "control-plane"
  address = "10.0.0.21"

  patch { # ERROR: Field belongs elsewhere
    target  = "kubeletconfiguration"
    type    = "json"
    content = jsonencode([{ op = "replace", path = "/staticPodPath", value = "/etc/other" }])
  }

  patch { # ERROR: Field belongs elsewhere
    target  = "kubeletconfiguration"
    type    = "json"
    content = jsonencode([{ op = "remove", path = "/staticPodPath" }])
  }

  patch { # ERROR: Field belongs elsewhere
    target  = "kubeletconfiguration"
    type    = "json"
    content = jsonencode([{ op = "move", from = "/staticPodPath", path = "/staticPodURL" }])
  }

  patch { # ERROR: Field belongs elsewhere
    target  = "kubeletconfiguration"
    type    = "json"
    content = jsonencode([{ op = "add", path = "/containerRuntimeEndpoint", value = "unix:///run/other.sock" }])
  }

  patch {
    target  = "kubeletconfiguration"
    type    = "json"
    content = jsonencode([{ op = "replace", path = "/maxPods", value = 50 }])
  }
}

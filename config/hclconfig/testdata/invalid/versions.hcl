kubewright {
  required_version = ">= 7.0" # ERROR: Unsupported kubewright version
}

cluster "v" {
  kubernetes_version = "v1.36" # ERROR: Unsupported Kubernetes version
}

cluster "short" {
  kubernetes_version = "1.36" # ERROR: Unsupported Kubernetes version
}

cluster "major" {
  kubernetes_version = "2.0.0" # ERROR: Unsupported Kubernetes version
}

cluster "label" {
  kubernetes_version = "stable" # ERROR: Unsupported Kubernetes version
}

cluster "old" {
  kubernetes_version = "1.33.4" # ERROR: Unsupported Kubernetes version
}

cluster "older" {
  kubernetes_version = "v1.33" # ERROR: Unsupported Kubernetes version
}

cluster "new" {
  kubernetes_version = "1.38.0" # ERROR: Unsupported Kubernetes version
}

cluster "rc" {
  kubernetes_version = "1.37.0-rc.1" # ERROR: Unsupported Kubernetes version
}

locals {
  clusters = 6
}

node "older" {
  cluster = cluster.older
  role    = "control-plane"
  address = "10.0.0.18"
}

node "v" {
  cluster = cluster.v
  role    = "control-plane"
  address = "10.0.0.1"
}

node "short" {
  cluster = cluster.short
  role    = "control-plane"
  address = "10.0.0.2"
}

node "label" {
  cluster = cluster.label
  role    = "control-plane"
  address = "10.0.0.3"
}

node "old" {
  cluster = cluster.old
  role    = "control-plane"
  address = "10.0.0.4"
}

node "new" {
  cluster = cluster.new
  role    = "control-plane"
  address = "10.0.0.5"
}

node "rc" {
  cluster = cluster.rc
  role    = "control-plane"
  address = "10.0.0.6"
}

node "major" {
  cluster = cluster.major
  role    = "control-plane"
  address = "10.0.0.7"
}

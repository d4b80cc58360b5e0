cluster "a" {
  kubernetes_version = "1.34.9"
  feature_gates = {
    WaitForAllControlPlaneComponents = false # ERROR: Feature gate is locked
    NodeLocalCRISocket               = false
    PublicKeysECDSA                  = true # WARNING: Deprecated feature gate
    EtcdLearnerMode                  = true # ERROR: Unknown feature gate
  }
}

cluster "b" {
  kubernetes_version = "1.37.1"
  feature_gates = {
    RootlessControlPlain = true # ERROR: Unknown feature gate
    NodeLocalCRISocket   = true # ERROR: Unknown feature gate
    RootlessControlPlane = true # ERROR: Feature gate is not supported
  }
}

node "a" {
  cluster = cluster.a
  role    = "control-plane"
  address = "10.0.0.1"
}

node "b" {
  cluster = cluster.b
  role    = "control-plane"
  address = "10.0.0.2"
}

cluster "c" {
  kubernetes_version = "1.35.8"
  feature_gates = {
    WaitForAllControlPlaneComponents = true  # ERROR: Unknown feature gate
    ControlPlaneKubeletLocalMode     = false # ERROR: Feature gate is locked
  }
}

cluster "d" {
  kubernetes_version = "1.36.3"
  feature_gates = {
    ControlPlaneKubeletLocalMode = true  # ERROR: Unknown feature gate
    PublicKeysECDSA              = false # WARNING: Deprecated feature gate
  }
}

cluster "e" {
  kubernetes_version = "1.37.1"
  feature_gates = {
    PublicKeysECDSA = true # ERROR: Unknown feature gate
  }
}

node "e" {
  cluster = cluster.e
  role    = "control-plane"
  address = "10.0.0.5"
}

node "c" {
  cluster = cluster.c
  role    = "control-plane"
  address = "10.0.0.3"
}

node "d" {
  cluster = cluster.d
  role    = "control-plane"
  address = "10.0.0.4"
}

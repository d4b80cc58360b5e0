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
    RootlessControlPlane = true # WARNING: Deprecated feature gate
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

cluster "c" {
  kubernetes_version = = "1.36.3" # ERROR: Invalid expression
}

cluster "c" {
  kubernetes_version = "1.36.3"
  cluster_name       = timestamp()               # ERROR: Error in function call
  image_repository   = file("../secret")         # ERROR: Invalid function argument
  proxy_env          = { A = file("/etc/passwd") } # ERROR: Invalid function argument
  upload_certs       = nosuch(1)                 # ERROR: Call to unknown function

  network {
    dns_domain = file("nothing.txt") # ERROR: Invalid function argument
    pod_subnet = cidrsubnet("10.0.0.0/8", 40, 1) # ERROR: Error in function call
  }
}

node "cp" {
  cluster = cluster.c
  role    = "control-plane"
  address = cidrhost("10.0.0.0/30", 9) # ERROR: Error in function call

  labels = {
    a = templatefile("main.hcl", "x")                # ERROR: Invalid function argument
    b = templatefile("main.hcl", { "a b" = "x" })    # ERROR: Invalid function argument
    c = matchkeys(["a"], ["b", "c"], ["b"])[0]         # ERROR: Error in function call
  }
}

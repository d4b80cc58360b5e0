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

node "w" {
  cluster = cluster.c
  role    = "worker"
  address = "10.0.0.2"

  labels = {
    a = sum("x")                                         # ERROR: Invalid function argument
    b = sum(["x"])                                       # ERROR: Invalid function argument
    c = sum([])                                          # ERROR: Invalid function argument
    d = index("x", "y")                                  # ERROR: Invalid function argument
    e = one(["a", "b"])                                  # ERROR: Invalid function argument
    f = one("a")                                         # ERROR: Invalid function argument
    g = templatestring("$${name}", { nam = "x" })        # ERROR: Invalid function argument
    h = pathexpand("~/x")                                # ERROR: Error in function call
    i = rsadecrypt("x", "y")                             # ERROR: Error in function call
    j = uuid()                                           # ERROR: Error in function call
    k = timecmp("today", "2030-01-02T15:04:05Z")         # ERROR: Invalid function argument
    l = join("", transpose({ a = [null] })["x"])         # ERROR: Error in function call
    m = replace("a", "/(/", "b")                         # ERROR: Invalid function argument
    n = one(toset(["a", "b"]))                           # ERROR: Invalid function argument
  }
}

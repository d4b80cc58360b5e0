cluster "prod" {
  kubernetes_version = "1.36.3"
  network {
    pod_subnet = "10.244.0.0/16"
  }
  api_server {
    extra_env "A" { value = "a\u0000b" } # ERROR: Invalid environment variable
    extra_env "B" { value = "two\nlines" }
  }
  proxy_env = { HTTP_PROXY = "http://proxy.example.com\nNO_PROXY=*", NO_PROXY = "10.0.0.0/8" } # ERROR: Invalid proxy
}

node "cp" {
  cluster = cluster.prod
  role    = "control-plane"
  address = "10.0.0.1"
}

# Everything that can be written. A test holds this against the schema.
kubewright {
  required_version = ">= 0.1.0, < 100.0"

  encryption {
    recipients = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILn/eBoOj8JI2SCJ2Q26a/7VUO32/ZRV4+ZK60tDuANN ann@laptop"]
  }

  backend "s3" {
    bucket         = "states"
    key            = "prod.json"
    use_path_style = true
  }
}

variable "domain" {
  type        = string
  default     = "example.com"
  description = "Domain of the endpoint."
  sensitive   = false
  nullable    = false

  validation {
    condition     = length(var.domain) > 3
    error_message = "Too short."
  }
}

variable "password" {
  type      = string
  default   = "correct horse"
  sensitive = true
}

locals {
  endpoint = "api.${var.domain}:6443"
}

cluster "prod" {
  lifecycle {
    prevent_destroy = true
    ignore_changes  = [api_server.arg["profiling"], kubelet.config, addon["cni"]]

    precondition {
      condition     = length(path.root) > 0
      error_message = "There is no folder."
    }
  }

  kubernetes_version      = "1.37.1"
  control_plane_endpoint  = local.endpoint
  cluster_name            = "production"
  bind_port               = 7443
  image_repository        = "registry.example.com:5000/k8s"
  feature_gates           = {}
  upload_certs            = true
  certificate_key         = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
  proxy_env               = { HTTPS_PROXY = "http://proxy:3128", no_proxy = ".svc" }
  ignore_preflight_errors = ["Swap", "Port-7443"]
  skip_phases             = ["addon/kube-proxy"]
  kernel_modules          = ["overlay", "br_netfilter"]
  sysctls                 = { "vm.max_map_count" = "262144", "net/ipv4/tcp_rmem" = "4096 131072 6291456" }
  image_pull_policy       = "Always"
  on_unreachable          = "withhold"
  image_pull_serial       = true

  network {
    pod_subnet     = "10.244.0.0/16,fd00:10:244::/56"
    service_subnet = "10.96.0.0/16,fd00:10:96::/112"
    dns_domain     = "prod.local"
  }

  api_server {
    cert_sans = ["kubernetes.${var.domain}", "192.0.2.1", "*.api.example.com"]

    arg "audit-log-mode" { value = "batch" }
    arg "v" {
      value = 2
    }
    arg "v" { value = "4" }

    extra_volume "audit" {
      host_path  = "/var/log/audit"
      mount_path = "/var/log/audit"
      read_only  = true
      path_type  = "DirectoryOrCreate"
    }

    extra_env "PASSWORD" { value = var.password }
    extra_env "HOST_IP" {
      value_from = { fieldRef = { fieldPath = "status.hostIP" } }
    }
  }

  controller_manager {
    arg "node-cidr-mask-size-ipv4" { value = "24" }
  }

  scheduler {
    extra_env "GODEBUG" { value = "x509sha1=0" }
  }

  etcd {
    image_repository = "registry.example.com/etcd"
    image_tag        = "3.6.8-0"
    data_dir         = "/data/etcd"
    server_cert_sans = ["etcd.example.com"]
    peer_cert_sans   = ["peer.example.com"]

    arg "quota-backend-bytes" { value = "8589934592" }
    extra_env "ETCD_X" { value = "1" }
  }

  dns {
    enabled          = true
    image_repository = "registry.example.com/coredns"
    image_tag        = "v1.14.6"
  }

  kube_proxy {
    enabled = true
    config = {
      mode     = "nftables"
      nftables = { syncPeriod = "30s", masqueradeAll = true }
    }
  }

  kubelet {
    config = {
      maxPods        = 200
      evictionHard   = { "memory.available" = "200Mi" }
      authentication = { webhook = { cacheTTL = "1m" } }
    }
    arg "v" { value = "2" }
  }

  certificates {
    dir          = "/etc/kubernetes/certs"
    algorithm    = "ECDSA-P256"
    validity     = "4380h"
    ca_validity  = "43800h"
    renew_before = "240h"

    ca {
      certificate = file("ca.crt")
      key         = file("ca.key")
      on_hosts    = true
    }
    front_proxy_ca {
      certificate = file("ca.crt")
      key         = file("ca.key")
      on_hosts    = false
    }
    etcd_ca {
      certificate = file("ca.crt")
      key         = file("ca.key")
      on_hosts    = true
    }
  }

  upgrade {
    max_unavailable = "10%"
    canary          = 1
    pause           = "10m"
    allow_downtime  = true

    pool "edge" {
      selector        = "node.example.com/pool=edge"
      max_unavailable = 1
      canary          = 0
      pause           = "0s"
    }

    pool "batch" {
      selector = "node.example.com/pool in (batch, spot)"
    }

    drain {
      timeout              = "5m"
      grace_period         = 30
      force                = true
      delete_emptydir_data = true
      disable_eviction     = true
      pod_selector         = "app!=cache"
      stay_cordoned        = false

      skip_wait_for_delete_timeout = "2m"
    }
  }

  install {
    artifacts = "./artifacts"
    keep      = ["images", "runtime"]
  }

  timeouts {
    control_plane_component_health_check = "1m"
    kubelet_health_check                 = "2m"
    kubernetes_api_call                  = "3m"
    etcd_api_call                        = "4m"
    tls_bootstrap                        = "5m"
    discovery                            = "6m"
    upgrade_manifests                    = "7m"
  }

  bootstrap_token {
    token       = "abcdef.0123456789abcdef"
    description = "for the autoscaler"
    ttl         = "0s"
    usages      = ["authentication"]
    groups      = ["system:bootstrappers:autoscaler"]
  }

  bootstrap_token {
    expires = "2030-01-02T15:04:05Z"
  }

  reset {
    cleanup_tmp_dir = true
    unmount_flags   = ["MNT_DETACH"]
  }

  patch {
    target  = "kube-apiserver"
    type    = "json"
    content = jsonencode([{ op = "add", path = "/metadata/labels/x", value = "y" }])
  }

  patch {
    target  = "kubeproxydaemonset"
    content = yamlencode({ metadata = { labels = { x = "y" } } })
  }

  unit "node-tuning.service" {
    content = "[Service]\nExecStart=/usr/bin/true\nRemainAfterExit=yes\n[Install]\nWantedBy=multi-user.target\n"
    enabled = true
    running = true
  }

  unit "chrony.service" {
    roles    = ["worker"]
    selector = "node.example.com/pool=batch"
    drop_in "10-cpu" {
      content = "[Service]\nCPUWeight=50\n"
    }
  }

  file "/etc/example/notice" {
    content   = "This node belongs to ${var.domain}.\n"
    mode      = "0640"
    owner     = "root:adm"
    sensitive = false
    restarts  = ["containerd"]
    roles     = ["worker"]
    selector  = "pool=batch"
  }

  file "/etc/example/secret" {
    source    = "secret.txt"
    sensitive = true
  }

  audit {
    level = "RequestResponse"
    log {
      path       = "/srv/audit/audit.log"
      max_age    = 7
      max_backup = 3
      max_size   = 50
    }
  }

  authentication {
    anonymous {
      paths = ["/livez", "/readyz", "/healthz", "/version"]
    }
    jwt {
      issuer {
        url                   = "https://issuer.example.com"
        audiences             = ["kubernetes", "kubectl"]
        discovery_url         = "https://keys.example.com/discovery"
        certificate_authority = file("ca.crt")
        audience_match_policy = "MatchAny"
      }
      claim_mappings {
        username {
          claim  = "sub"
          prefix = "oidc:"
        }
        groups { expression = "claims.groups" }
        uid { claim = "uid" }
        extra "example.com/tenant" { value_expression = "claims.tenant" }
      }
      claim_validation_rule {
        claim          = "hd"
        required_value = "example.com"
      }
      claim_validation_rule {
        expression = "claims.exp - claims.nbf <= 86400"
        message    = "tokens are valid for a day at most"
      }
      user_validation_rule {
        expression = "!user.username.startsWith('system:')"
        message    = "names of the system are reserved"
      }
    }
    jwt {
      issuer {
        url       = "https://other.example.com"
        audiences = ["kubernetes"]
      }
      claim_mappings {
        username { expression = "'other:' + claims.sub" }
        groups {
          claim  = "groups"
          prefix = "other:"
        }
        uid { expression = "claims.uid" }
      }
    }
  }

  encryption {
    type      = "aescbc"
    key       = "2026-11"
    resources = ["secrets", "widgets.example.com"]
  }

  admission {
    pod_security {
      enforce                = "baseline"
      audit                  = "restricted"
      warn                   = "restricted"
      standards_version      = "v1.36"
      exempt_namespaces      = ["kube-system", "cni"]
      exempt_users           = ["system:serviceaccount:kube-system:job-controller"]
      exempt_runtime_classes = ["sandboxed"]
    }
    plugin "EventRateLimit" {
      configuration = {
        apiVersion = "eventratelimit.admission.k8s.io/v1alpha1"
        kind       = "Configuration"
        limits     = [{ type = "Server", qps = 50, burst = 100 }]
      }
    }
  }

  backup {
    schedule   = "6h"
    folder     = "/srv/backups"
    keep       = 30
    recipients = ["age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"]
    s3 {
      bucket     = "backups"
      region     = "eu-west-1"
      endpoint   = "https://minio.example.com"
      prefix     = "complete/"
      access_key = "AKBACKUP"
      secret_key = var.password
      ca         = file("minio-ca.crt")
    }
  }

  directory "/srv/cache" {
    mode     = "0750"
    owner    = "root:adm"
    roles    = ["control-plane", "worker"]
    selector = "pool=batch"
  }

  addon "cni" {
    manifest = [
      <<-EOT
        apiVersion: v1
        kind: Namespace
        metadata:
          name: cni
        ---
        # nothing
        ---
        apiVersion: v1
        kind: List
        items:
          - {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: cni}, data: {key: "1"}}
          - {apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: cni}}
      EOT
    ]
  }

  addon "secret" {
    manifest = yamlencode({
      apiVersion = "v1", kind = "Secret", metadata = { name = "s", namespace = "cni" }, stringData = { p = var.password }
    })
  }
}

cluster "edge" {
  authentication {
    configuration = yamlencode({
      apiVersion = "apiserver.config.k8s.io/v1"
      kind       = "AuthenticationConfiguration"
    })
  }
  encryption {
    type = "kms"
    kms {
      name     = "vault"
      endpoint = "unix:///run/kms/socket.sock"
      timeout  = "5s"
    }
  }
  audit {
    policy = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n"
    webhook {
      kubeconfig = yamlencode({
        apiVersion      = "v1"
        kind            = "Config"
        clusters        = [{ name = "log", cluster = { server = "https://log.example.com/" } }]
        contexts        = [{ name = "log", context = { cluster = "log", user = "" } }]
        current-context = "log"
      })
      mode       = "blocking"
    }
  }
  kubernetes_version = "1.35.8"

  install {
    packages {
      key        = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmQ==\n-----END PGP PUBLIC KEY BLOCK-----\n"
      repository = "https://mirror.example.com/kubernetes"
      runtime    = "containerd.io"
      tools      = ["kubectl"]
      hold       = false
    }
  }

  etcd {
    external {
      endpoints      = ["https://etcd1:2379", "https://etcd2:2379"]
      http_endpoints = ["http://etcd1:2381"]
      ca_file        = "/etc/etcd/ca.crt"
      cert_file      = "/etc/etcd/client.crt"
      key_file       = "/etc/etcd/client.key"
      ca             = file("ca.crt")
      cert           = file("ca.crt")
      key            = file("ca.key")
    }
  }

  certificates {
    supplied        = "supplied"
    kubelet_serving = true
    ca {
      certificate = file("ca.crt")
    }
  }
}

connection {
  type                 = "ssh"
  host                 = null
  port                 = 2222
  user                 = "ubuntu"
  private_key          = ["~/.ssh/a", "~/.ssh/b"]
  certificate          = "~/.ssh/a-cert.pub"
  agent                = false
  known_hosts          = "./known_hosts"
  accept_new_host_keys = true
  ssh_config           = "none"
  sudo_password        = var.password
  timeout              = "10s"

  bastion {
    host                 = "jump.example.com"
    port                 = 22
    user                 = "jump"
    private_key          = "~/.ssh/jump"
    certificate          = "~/.ssh/jump-cert.pub"
    agent                = true
    host_key             = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8g"
    known_hosts          = []
    accept_new_host_keys = false
    ssh_config           = "./ssh_config"
  }
}

node "cp" {
  for_each = { one = 11, two = 12, three = 13 }

  cluster             = cluster.prod
  role                = "control-plane"
  name                = "cp-${each.key}"
  address             = "cp-${each.key}.${var.domain}"
  advertise_addresses = ["192.0.2.${each.value}", "2001:db8::${each.value}"]
  taints              = []
}

node "worker" {
  cluster                 = cluster.prod
  role                    = "worker"
  address                 = "192.0.2.21"
  labels                  = { "node.example.com/pool" = "batch", zone = "a" }
  annotations             = { "example.com/owner" = "team" }
  schedulable             = false
  cri_socket              = "unix:///run/containerd/containerd.sock"
  ignore_preflight_errors = ["all"]
  skip_phases             = ["preflight"]
  image_pull_policy       = "Never"
  image_pull_serial       = false
  kernel_modules          = ["nf_conntrack"]
  sysctls                 = { "vm.max_map_count" = "524288" }

  unit "chrony.service" {
    running = false
  }

  taint "dedicated" {
    value  = "batch"
    effect = "NoSchedule"
  }
  taint "dedicated" {
    effect = "NoExecute"
  }

  kubelet {
    config = { maxPods = 20 }
    arg "node-ip" { value = "192.0.2.21" }
  }

  connection {
    user     = "root"
    host     = "bmc.example.com"
    host_key = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8g"]
  }

  patch {
    target  = "kubeletconfiguration"
    type    = "merge"
    content = "maxPods: 10"
  }

  file "/etc/example/notice" {
    content   = "A worker.\n"
    mode      = "640"
    owner     = "root"
    sensitive = true
    restarts  = ["kubelet", "kube-apiserver"]
  }

  file "/etc/example/own" {
    source = "secret.txt"
  }

  directory "/srv/own" {
    mode  = "0700"
    owner = "root"
  }
}

node "edge" {
  cluster = cluster.edge
  role    = "control-plane"
  address = "192.0.2.31"

  connection {
    type = "local"
  }

  lifecycle {
    prevent_destroy = false
    ignore_changes  = [labels["node.example.com/pool"], "taints", kubelet.config.maxPods]

    precondition {
      condition     = length(path.root) > 0
      error_message = "There is no folder."
    }
  }
}

output "endpoint" {
  value       = cluster.prod.control_plane_endpoint
  description = "Where the API answers."
  sensitive   = false
}

output "password" {
  value     = var.password
  sensitive = true
}

check "endpoint" {
  assert {
    condition     = cluster.prod.control_plane_endpoint != ""
    error_message = "The cluster ${cluster.prod.cluster_name} has no endpoint."
  }
}

policy "production" {
  cluster      = cluster.prod
  max_destroys = 1
  protected    = ["node.plane", "cluster.*"]

  freeze "nights" {
    from      = "22:00"
    to        = "06:00"
    weekdays  = ["mon", "tuesday"]
    time_zone = "Europe/Berlin"
    reason    = "Nobody is there."
  }

  approval {
    approvers = 2
    file      = "approvals"
    names     = ["ann", "bob", "cy"]
  }
}

moved {
  from = node.cp["old"]
  to   = node.cp["one"]
}

moved {
  from = cluster.before
  to   = cluster.prod
}

removed {
  from = node.gone

  lifecycle {
    destroy         = false
    prevent_destroy = false
  }
}

removed {
  from        = node.cp["burnt"]
  unreachable = true
}

import {
  to = cluster.prod
  id = "ssh://cp-one.${var.domain}"
}

cluster "hardened" {
  kubernetes_version = "1.36.3"

  hardening {
    profile  = "cis"
    controls = ["1.2.11"]
    except "1.1.12" {
      reason = "an agent owns the folder"
    }
  }
}

node "hardened" {
  cluster = cluster.hardened
  role    = "control-plane"
  address = "10.0.9.1"
}

# Files and directories of the user on hosts.
cluster "prod" {
  kubernetes_version     = "1.36.3"
  control_plane_endpoint = "api.example.com:6443"

  install {
    artifacts = "artifacts"
  }

  file "relative" { # ERROR: Invalid host path
    content = ""
  }

  file "/etc/example/../shadow" { # ERROR: Invalid host path
    content = ""
  }

  file "/etc/example/a:b" { # ERROR: Invalid host path
    content = ""
  }

  file "/etc" { # ERROR: Host path belongs to another
    content = ""
  }

  file "/etc/kubernetes/manifests/own.yaml" { # ERROR: Host path belongs to another
    content = ""
  }

  file "/etc/kubernetes/pki/ca.crt" { # ERROR: Host path belongs to another
    content = ""
  }

  file "/var/lib/kubelet/config.yaml" { # ERROR: Host path belongs to another
    content = ""
  }

  file "/var/lib/kubelet/config.json" {
    content = "{}"
  }

  file "/usr/lib/systemd/system/kubelet.service" { # ERROR: Host path belongs to another
    content = ""
  }

  file "/usr/local/etc/example" {
    content = ""
  }

  file "/etc/systemd/system/example.service" { # ERROR: Host path belongs to another
    content = ""
  }

  file "/etc/containerd/config.toml" { # ERROR: Host path belongs to another
    content = ""
  }

  file "/home/ann/.ssh/authorized_keys" { # ERROR: Host path belongs to another
    content = ""
  }

  file "/etc/sudoers.d/ann" { # ERROR: Host path belongs to another
    content = ""
  }

  file "/run/example" { # ERROR: Host path belongs to another
    content = ""
  }

  directory "/var/lib/etcd/own" { # ERROR: Host path belongs to another
  }

  file "/etc/example/012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789" { # ERROR: Invalid host path
    content = ""
  }

  file "/etc/example/large" {
    content = join("", [for i in range(1024) : format("%0300d", i)]) # ERROR: File is too large
  }

  file "/etc/example/zero" {
    content = "a\u0000b" # ERROR: Invalid file content
  }

  file "/etc/kubernetes/some.pem" {
    content  = "-----BEGIN CERTIFICATE-----\nMIIBeTCCAR+gAwIBAgIUPU1/0vOI5kbKPr5Vma21wM8AjyAwCgYIKoZIzj0EAwIw\nETEPMA0GA1UEAwwGaW1hZ2VzMCAXDTI2MTEzMDEzMjMwOFoYDzIxMjYxMTA2MTMy\nMzA4WjARMQ8wDQYDVQQDDAZpbWFnZXMwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC\nAARmXa901Qb41ZWSkqjEfwqFW2uRYPUWjHwwsbLe8GR195+jVlMnrNIAD287OFmo\nau//9nwTSX8zX5HO4Ddgtn0qo1MwUTAdBgNVHQ4EFgQURZasJeZEFaW8wz7LujxO\noza6vTowHwYDVR0jBBgwFoAURZasJeZEFaW8wz7LujxOoza6vTowDwYDVR0TAQH/\nBAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiEAgr/LXN5NalNwBWtt0OrL1uKBXXAX\nrn3rUBtAl0OdjtwCICMm0LAP5VPUVd/n5EB2r9qm6ozwgGMbWNXRrqaUr4L3\n-----END CERTIFICATE-----\n"
    selector = "some=yes"
  }

  file "/etc/example/both" {
    content = ""
    source  = "a.txt" # ERROR: Invalid file content
  }

  file "/etc/example/neither" { # ERROR: Invalid file content
  }

  file "/etc/example/missing" {
    source = "no/such/file" # ERROR: Invalid file content
  }

  file "/etc/example/outside" {
    source = "../outside" # ERROR: Invalid file content
  }

  file "/etc/example/setuid" {
    content = ""
    mode    = "4755" # ERROR: Invalid file mode
  }

  file "/etc/example/everyone" {
    content = ""
    mode    = "0666" # ERROR: Invalid file mode
  }

  file "/etc/example/symbolic" {
    content = ""
    mode    = "u+w" # ERROR: Invalid file mode
  }

  file "/etc/example/numbers" {
    content = ""
    owner   = "007:0" # ERROR: Invalid file owner
  }

  directory "/etc/kubernetes" { # ERROR: Host path belongs to another
    roles = ["worker"]
  }

  file "/etc/example/ids" {
    content = ""
    owner   = "4294967295" # ERROR: Invalid file owner
  }

  file "/etc/example/names" {
    content = ""
    owner   = "ann smith" # ERROR: Invalid file owner
  }

  file "/etc/example/restarts" {
    content  = ""
    restarts = ["kube-apiserver", "kubelt"] # ERROR: Unknown component
  }

  file "/etc/example/roles" {
    content = ""
    roles   = ["master"] # ERROR: Invalid role
  }

  file "/etc/example/selector" {
    content  = ""
    selector = "=" # ERROR: Invalid label selector
  }

  file "/etc/example/twice" {
    content = ""
  }

  file "/etc/example/twice" { # ERROR: Duplicate file block
    content = ""
  }

  directory "/etc/example/twice" { # ERROR: Host path used twice
  }

  file "/etc/example/twice/below" { # ERROR: Path below a file
    content = ""
  }

  directory "/srv/shared" {
    mode  = "0775"
    owner = "root:adm"
  }

  file "/srv/shared/notice" { # ERROR: Directory is writable by others
    content = ""
  }

  file "/etc/kubernetes/audit/policy.yaml" {
    content = "kind: Policy" # ERROR: Invalid file content
  }

  file "/etc/kubernetes/admission.yaml" {
    content = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugin: []\n" # ERROR: Invalid file content
  }

  file "/etc/kubernetes/encryption.yaml" {
    content   = "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources: []\n" # ERROR: Invalid file content
    sensitive = true
  }

  directory "/etc/kubernetes/tracing" {
  }

  file "/etc/etcd/revoked.crl" {
    content = "-----BEGIN X509 CRL-----\nMIIB\n-----END X509 CRL-----\n" # ERROR: Invalid file content
  }

  file "/etc/kubernetes/tls/accounts.pub" {
    content = "none\n" # ERROR: Invalid file content
  }

  etcd {
    arg "client-crl-file" { value = "/etc/etcd/revoked.crl" }
    arg "peer-crl-file" { value = "/etc/etcd/peers.crl" } # ERROR: File of an argument is missing
  }

  file "/etc/kubernetes/workers.yaml" {
    content = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers: [{ type: RBAC, name: rbac }]\n"
    roles   = ["worker"]
  }

  api_server {
    arg "audit-policy-file" { value = "/etc/kubernetes/audit/policy.yaml" }
    arg "admission-control-config-file" { value = "/etc/kubernetes/admission.yaml" }
    arg "encryption-provider-config" { value = "/etc/kubernetes/encryption.yaml" }
    arg "tracing-config-file" { value = "/etc/kubernetes/tracing/config.yaml" }         # ERROR: File of an argument is missing
    arg "authentication-config" { value = "/etc/kubernetes/nowhere.yaml" }              # ERROR: File of an argument is missing
    arg "authorization-config" { value = "/etc/kubernetes/workers.yaml" }               # ERROR: File of an argument is missing
    arg "service-account-key-file" { value = "/etc/kubernetes/tls/accounts.pub" }
    arg "oidc-ca-file" { value = "/etc/ssl/certs/oidc.pem" } # ERROR: Arguments do not go together
    arg "client-ca-file" { value = "/etc/kubernetes/some.pem" } # ERROR: File of an argument is missing
  }
}

node "cp" {
  cluster = cluster.prod
  role    = "control-plane"
  address = "192.0.2.11"

  file "/etc/kubernetes/admin.conf" { # ERROR: Host path belongs to another
    content = ""
  }

  file "/etc/example/twice/of-node" { # ERROR: Path below a file
    content = ""
  }
}

node "other" {
  for_each = { cp2 = "192.0.2.12", cp3 = "192.0.2.13" }

  cluster = cluster.prod
  role    = "control-plane"
  address = each.value
  labels  = { some = each.key == "cp2" ? "yes" : "no" }
}

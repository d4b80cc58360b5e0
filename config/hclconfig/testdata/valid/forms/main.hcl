# Values in forms that kubeadm takes besides the plain one.
cluster "c" {
  kubernetes_version = "v1.36.3"
  image_repository   = "registry.example.com/kubernetes/"

  etcd { data_dir = "/srv/etcd/" }
  certificates { dir = "/etc/kubernetes/pki/" }
  dns { image_repository = "registry.example.com/dns/" }
}

node "n" {
  cluster    = cluster.c
  role       = "control-plane"
  address    = "192.0.2.1"
  name       = "CP1.Example.com"
  cri_socket = "/run/containerd/containerd.sock"
}

// Package adoption reads a cluster that kubeadm made, and writes the configuration and the
// state with which kubewright takes it over. It changes nothing on a host.
package adoption

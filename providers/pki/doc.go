// Package pki makes the keys, certificates and kubeconfigs of a cluster in the same way as
// kubeadm of the same version, and parses their public parts.
//
// Key material lives in memory only: a CA's key is read from its host (or given by the
// operator) and kept for one run, and new keys travel to a host as content of WriteFile
// operations, on stdin. No error and no report holds a byte of a key.
//
// The package reads and writes PEM and YAML. It writes kubeconfigs with the same bytes as
// client-go (a test of providers/kube compares them) without importing client-go, so that
// hosts and the simulator can use it cheaply.
package pki

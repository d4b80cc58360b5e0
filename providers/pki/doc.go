// Package pki makes the keys, certificates and kubeconfigs of a cluster as
// kubeadm of the same version makes them, and reads their public parts back.
//
// Key material lives in memory only: a CA's key is read from the host that
// holds it (or given by the operator), kept for one run, and what is made
// travels to a host as content of WriteFile operations, on stdin. No error and
// no report holds a byte of a key.
//
// The package deals in PEM and YAML. It writes kubeconfigs with the bytes that
// client-go would write (a test of providers/kube compares them), without
// importing client-go, so that hosts and the simulator can use it cheaply.
package pki

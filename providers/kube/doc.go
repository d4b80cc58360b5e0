// Package kube reaches a cluster's Kubernetes API through one of its control
// planes, with the administrator's kubeconfig of that host and over connections
// that begin there.
//
// In a cluster that is just being founded the administrator has no rights yet:
// the group kubeadm:cluster-admins is bound only later. What is forbidden to
// admin.conf is therefore tried with super-admin.conf, which the founder has
// and no other host (kubeadm since 1.29 does the same).
//
// Kinds that Kubernetes itself serves are known here, so that no discovery is
// needed before the first request; other kinds are looked up once.
package kube

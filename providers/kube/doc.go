// Package kube reaches a cluster's Kubernetes API through one of its control planes, with
// the administrator's kubeconfig of that host and over connections that start there.
//
// While a cluster is being bootstrapped, the administrator has no rights yet: the group
// kubeadm:cluster-admins is bound only later. Requests that are forbidden to admin.conf are
// therefore retried with super-admin.conf, which only the first control plane has (kubeadm
// since 1.29 does the same).
//
// The package knows the built-in kinds of Kubernetes, so the first request needs no
// discovery; other kinds are discovered once.
package kube

// Package staticpod plans the manifests of etcd and of the control plane, the order in which
// their pods restart, and the checks that each pod runs what its manifest says.
//
// It decides neither etcd's membership nor a cluster's version.
//
// The package is pure: no clock, files, network or goroutines.
package staticpod

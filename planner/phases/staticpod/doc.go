// Package staticpod plans the manifests of etcd and of the control plane, the order in which
// their pods restart, and the checks that each of them runs what its manifest says.
//
// It decides neither who is a member of etcd nor which version a cluster gets.
//
// The package is pure: no clock, files, network or goroutines.
package staticpod

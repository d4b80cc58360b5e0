// Package reset plans the reset of hosts: it removes what kubewright and kubeadm have installed
// there, and restores what was there before.
//
// It removes no member from etcd and no Node: those steps come before it.
//
// The package is pure: no clock, files, network or goroutines.
package reset

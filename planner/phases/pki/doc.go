// Package pki plans the cluster's CAs, certificates, keys and kubeconfigs, including those that
// an external CA issues: kubeadm's phases certs and kubeconfig.
//
// It signs nothing itself: providers issue what it plans.
//
// The package is pure: no clock, files, network or goroutines.
package pki

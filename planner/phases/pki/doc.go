// Package pki plans the cluster's CAs, certificates, keys and kubeconfigs, those that an
// external CA issues among them: kubeadm's phases certs and kubeconfig.
//
// It signs nothing: providers issue what it asks for.
//
// The package is pure: no clock, files, network or goroutines.
package pki

// Package pki plans the cluster's CAs, certificates, keys and kubeconfigs, those that an
// external CA issues among them: kubeadm's phases certs and kubeconfig.
//
// It also resolves the model (Resolve), since what ignore_changes leaves to others takes the
// place of settings before any phase reads them.
//
// It signs nothing: providers issue what it asks for.
//
// The package is pure: no clock, files, network or goroutines.
package pki

// Package objects plans what is written to the API: kubeadm's ConfigMaps and RBAC, addons,
// bootstrap tokens and the uploaded certificates.
//
// It reaches no host, except to clean up what a kube-proxy in another mode has left.
//
// The package is pure: no clock, files, network or goroutines.
package objects

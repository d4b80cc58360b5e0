// Package objects plans what is written to the API: kubeadm's ConfigMaps and RBAC, addons,
// bootstrap tokens and the uploaded certificates.
//
// It changes nothing on a host, except to clean up the rules that kube-proxy left in another mode.
//
// The package is pure: no clock, files, network or goroutines.
package objects

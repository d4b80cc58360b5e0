// Package preflight checks hosts before anything is changed on them, as kubeadm's preflight
// phase does, and reports errors and warnings.
//
// It changes nothing and queries nothing: package observe queries hosts for its input.
//
// The package is pure: no clock, files, network or goroutines.
package preflight

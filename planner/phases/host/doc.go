// Package host plans what a host needs before Kubernetes runs on it: kernel modules, sysctls,
// swap, folders, packages or artifacts, and images.
//
// It knows nothing of the roles that static pods or the API give to a node.
//
// The package is pure: no clock, files, network or goroutines.
package host

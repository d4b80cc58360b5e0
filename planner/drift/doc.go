// Package drift decides which differences count: values that ignore_changes leaves to others,
// changes outside of kubewright, and what an interrupted apply has left.
//
// It chooses no operation for them.
//
// The package is pure: no clock, files, network or goroutines.
package drift

// Package drift decides which differences count: values that ignore_changes leaves to others,
// changes outside of kubewright, and what an interrupted apply has left. Each decision is a rule about
// one difference; the caller lists the rules in their order.
//
// It chooses no operation for them.
//
// The package is pure: no clock, files, network or goroutines.
package drift

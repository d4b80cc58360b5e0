// Package absence decides what a plan may do for a running cluster while some of its control planes
// could not be observed: whether the cluster itself shows what is missing, and which steps are
// withheld until it is back.
//
// It does not decide whether the operator permits such a plan, and it never changes one.
//
// The package is pure: no clock, files, network or goroutines.
package absence

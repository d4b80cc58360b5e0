// Package sensitive replaces secrets in items and observations by references, so that plans,
// states and logs never hold one, and keeps them comparable by keyed fingerprints.
//
// This package never resolves a reference to its secret; pipeline.Reveal does.
//
// The package is pure: no clock, files, network or goroutines.
package sensitive

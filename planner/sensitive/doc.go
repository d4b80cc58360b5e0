// Package sensitive replaces secrets in items and observations by references, so that plans,
// states and logs never hold one, and keeps them comparable by keyed fingerprints.
//
// Nothing here turns a reference back into its secret: that is pipeline.Reveal.
//
// The package is pure: no clock, files, network or goroutines.
package sensitive

// Package drain plans evictions: which pods a drain touches, what is lost with them, the
// budgets that they wait for, and how many workers may be unavailable at a time.
//
// It does not decide which nodes are drained, or when.
//
// The package is pure: no clock, files, network or goroutines.
package drain

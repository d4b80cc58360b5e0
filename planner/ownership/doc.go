// Package ownership decides whether a host, a node or a cluster is the one that the state
// knows, and refuses plans for those that are not. It holds the moved and removed blocks.
//
// It repairs nothing: it only refuses, renames and forgets.
//
// The package is pure: no clock, files, network or goroutines.
package ownership

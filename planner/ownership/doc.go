// Package ownership decides whether a host, a node or a cluster is the recorded one, and refuses
// plans for others. It also handles moved and removed blocks.
//
// It repairs nothing: it only refuses, renames and forgets.
//
// The package is pure: no clock, files, network or goroutines.
package ownership

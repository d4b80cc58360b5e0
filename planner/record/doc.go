// Package record returns what the state has to record: after an apply, for adopted clusters, and
// for states that are rebuilt from hosts.
//
// It writes nothing: the caller stores what it returns.
//
// The package is pure: no clock, files, network or goroutines.
package record

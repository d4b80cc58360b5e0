// Package record says what the state learns of a plan that was applied, of clusters that are
// adopted, and of states that are rebuilt from hosts.
//
// It writes nothing: the caller stores what it returns.
//
// The package is pure: no clock, files, network or goroutines.
package record

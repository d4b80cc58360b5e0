// Package immutable holds the settings that cannot change while a cluster lives: it knows
// them of the state, of what the cluster itself stores and of the hosts, and refuses a
// configuration that wants them otherwise.
//
// It repairs nothing and plans nothing.
//
// The package is pure: no clock, files, network or goroutines.
package immutable

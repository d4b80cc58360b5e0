// Package immutable handles the settings that cannot change while a cluster lives: it reads them
// from the state, from what the cluster itself stores and from the hosts, and refuses a
// configuration with other values.
//
// It repairs nothing and plans nothing.
//
// The package is pure: no clock, files, network or goroutines.
package immutable

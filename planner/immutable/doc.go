// Package immutable handles the settings that cannot change while a cluster lives: it reads them
// from the state, from what the cluster itself stores and from the hosts, and refuses a
// configuration with other values.
//
// Settings and arguments are two tables, because they are compared in two ways: a setting has one
// value, in the state or in the cluster's own configuration; an argument has one in each manifest, of
// which any with the desired value is enough. One table of both would need a column for each
// difference, and be longer than the two.
//
// It repairs nothing and plans nothing.
//
// The package is pure: no clock, files, network or goroutines.
package immutable

// Package resolve joins configuration, observation and state into the model of package
// topology: the clusters with their CAs and nodes, and in place of settings that
// ignore_changes leaves to others what is there.
//
// It reports no findings and plans nothing; the packages above do.
//
// The package is pure: no clock, files, network or goroutines.
package resolve

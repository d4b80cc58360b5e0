// Package resolve joins configuration, observation and state into the model of package
// topology: the clusters with their CAs and nodes, and in place of settings that
// ignore_changes leaves to others what is there.
//
// It judges nothing: what is wrong, and what is to be done, the packages above say.
//
// The package is pure: no clock, files, network or goroutines.
package resolve

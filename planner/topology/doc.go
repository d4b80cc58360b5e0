// Package topology joins configuration, observation and state into one model: the clusters, their
// nodes, the departing nodes, their CAs, and the condition of each of them. The packages that make
// the plan use a *Fleet.
//
// It decides nothing: it renders no file, compares nothing and chooses no operation.
//
// The package is pure: no clock, files, network or goroutines.
package topology

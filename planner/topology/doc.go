// Package topology joins what is configured, observed and recorded into one model: the
// clusters, their nodes, the nodes that are being removed, their CAs, and the condition that
// each of them is in. The packages that make the plan take a *Fleet.
//
// It decides nothing: it renders no file, compares nothing and chooses no operation.
//
// The package is pure: no clock, files, network or goroutines.
package topology

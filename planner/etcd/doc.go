// Package etcd plans the membership of etcd: who joins and who is removed in which order,
// whether quorum holds at every step, which version of it may run, and when a snapshot is
// due.
//
// It writes no manifest: that is package staticpod.
//
// The package is pure: no clock, files, network or goroutines.
package etcd

// Package etcd plans the membership of etcd: in which order members join and are removed, whether
// quorum holds at every step, which etcd version may run, and when a snapshot is due.
//
// It writes no manifest: that is package staticpod.
//
// The package is pure: no clock, files, network or goroutines.
package etcd

// Package maintenance plans work on etcd that no configuration asks for: the defragmentation
// of its members and the restore of a snapshot.
//
// It never runs as a part of a plan for the configuration.
//
// The package is pure: no clock, files, network or goroutines.
package maintenance

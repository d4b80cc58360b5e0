// Package maintenance plans work on etcd that is not part of the configuration: the defragmentation
// of its members and the restore of a snapshot.
//
// It never runs as part of a plan for the configuration.
//
// The package is pure: no clock, files, network or goroutines.
package maintenance

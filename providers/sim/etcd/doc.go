// Package etcd is the simulated etcd clusters: bootstrap and joining, learners, quorum and
// leadership, refusals of unsafe changes, alarms and snapshots. The data stored in them
// belongs to package store, and is not interpreted here.
package etcd

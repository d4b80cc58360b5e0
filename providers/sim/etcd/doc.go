// Package etcd is the simulated etcd clusters: founding and joining, learners, quorum and
// leadership, refusals of unsafe changes, alarms and snapshots. What is stored in them is
// package store's, and is not interpreted here.
package etcd

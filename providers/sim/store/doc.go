// Package store is the data that API servers keep in etcd: objects, nodes, pods, budgets,
// leases and tokens, with the rules for merging and defaulting them. It knows nothing of
// machines; package apiserver has everything that depends on those.
package store

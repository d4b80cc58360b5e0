// Package store is what API servers keep in etcd: objects, nodes, pods, budgets, leases and
// tokens, and how they are merged and defaulted. It knows nothing of the machines behind them;
// what depends on those is in package apiserver.
package store

// Package workload is the pods of simulated clusters: the controllers that create them, the
// scheduler that assigns them to nodes, and the evictions of a drain. It runs none of them.
package workload

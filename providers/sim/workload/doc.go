// Package workload is the pods of simulated clusters: the controllers that make them, the
// scheduler that gives them a node, and the evictions of a drain. It runs none of them.
package workload

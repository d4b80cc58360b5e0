// Package kubelet plans the start of a kubelet, its upgrade, and the labels and taints of its
// Node.
//
// It evicts nothing itself: the drain belongs to package drain.
//
// The package is pure: no clock, files, network or goroutines.
package kubelet

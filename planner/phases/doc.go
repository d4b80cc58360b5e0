// Package phases is the table of the phases: what a node goes through, in kubeadm's order.
//
// A phase itself is in the package of what it is about, below this one. To add one, write a
// topology.Phase there, and name it in All.
//
// The package is pure: no clock, files, network or goroutines.
package phases

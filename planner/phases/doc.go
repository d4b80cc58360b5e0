// Package phases lists the phases that a node goes through, in kubeadm's order.
//
// Each phase lives in the package of its subject, below this one. To add a phase, write a
// topology.Phase there and list it in All.
//
// The package is pure: no clock, files, network or goroutines.
package phases

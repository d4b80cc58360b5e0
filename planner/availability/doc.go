// Package availability walks over the ordered steps of a plan and says which members of etcd vote
// and which API servers serve when each step begins. Impacts of steps, gates, refusals, transfers of
// leadership and the line about quorum read it.
//
// It decides no order and evaluates no gate: the former are edges of packages staticpod and etcd, the
// latter is package quorum. What is decided before there is an order is not read from it: the order of
// membership changes (package etcd), which API servers remain at the end, and what is withheld while a
// control plane is missing (package absence). Workers have limits of their own in package drain.
//
// The package is pure: no clock, files, network or goroutines.
package availability

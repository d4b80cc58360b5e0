// Package upgrade plans version changes: the skew that Kubernetes allows, the intermediate
// versions, the batches of workers and the order of all steps.
//
// Whether a configuration fits another version than the cluster's is one check, unfitted, for the
// versions that control planes pass through, for kubelets of another version, and for values that
// ignore_changes keeps. The skew of versions is another question: no configuration answers it.
//
// The packages of the phases plan what a step does to one node.
//
// The package is pure: no clock, files, network or goroutines.
package upgrade

// Package upgrade plans version changes: the skew that Kubernetes allows, the intermediate
// versions, the batches of workers and the order of all steps.
//
// The packages of the phases plan what a step does to one node.
//
// The package is pure: no clock, files, network or goroutines.
package upgrade

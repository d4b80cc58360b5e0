// Package upgrade plans version changes: the skew that Kubernetes allows, the intermediate
// versions, the batches of workers and the order of all steps.
//
// What a step does to one node is planned by the packages of the phases.
//
// The package is pure: no clock, files, network or goroutines.
package upgrade

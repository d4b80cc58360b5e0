// Package operation performs kubewright's operations on a simulated machine, and refuses
// what a real host refuses. Faults and locks belong to the world.
package operation

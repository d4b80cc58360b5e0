// Package operation does kubewright's operations on a simulated machine, and refuses what a real
// host refuses. Faults and locks are the world's.
package operation

// Package observation answers kubewright's queries about a simulated machine. It changes
// nothing.
package observation

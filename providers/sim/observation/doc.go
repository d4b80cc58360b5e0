// Package observation answers kubewright's questions about a simulated machine. It changes
// nothing.
package observation

// Package edit changes a simulated machine, or the cluster that it is in, by hand, as tests and
// kubewright sim edit say it. It takes no lock: that is the world's.
package edit

// Package edit makes manual changes to a simulated machine, or to its cluster, for tests
// and kubewright sim edit. It takes no lock: that is up to the world.
package edit

// Package conformance runs Kubernetes' own conformance suite against a cluster, in parts: tests
// that may run in parallel in several processes, serial ones by themselves. The verdict on each
// test is kept in a file as soon as its part has ended, so that a run that was interrupted
// continues where it was.
//
// It knows nothing of how the cluster came to be or of how the suite is built.
package conformance

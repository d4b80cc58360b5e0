// Package rotation plans the replacement of CAs and of the service account keys in stages, each of
// which leaves a working cluster.
//
// A CA and the service account keys are both a pair: how far a rotation has come, how both pairs
// come to be trusted, and what is removed in the end is the same for them. What signs with the new
// one, and what has to trust it, is not.
//
// It is the only package whose steps change a CA that is in use.
//
// The package is pure: no clock, files, network or goroutines.
package rotation

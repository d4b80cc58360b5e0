// Package rotation plans the replacement of CAs and of the service account keys in stages, each of
// which leaves a working cluster.
//
// It is the only package whose steps change a CA that is in use.
//
// The package is pure: no clock, files, network or goroutines.
package rotation

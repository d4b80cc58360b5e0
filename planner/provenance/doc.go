// Package provenance finds the line of the configuration that a desired value comes from, so
// that a plan can name it.
//
// It reads desired items and the model; it changes neither.
//
// The package is pure: no clock, files, network or goroutines.
package provenance

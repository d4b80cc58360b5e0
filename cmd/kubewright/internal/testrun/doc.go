// Package testrun carries out the test files of a configuration: each on simulated hosts and with a
// state of its own, in a temporary folder.
//
// It reaches no real host and opens no backend.
package testrun

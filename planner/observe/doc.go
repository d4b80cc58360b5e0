// Package observe returns the queries for hosts and the API, and turns the answers into items that
// are compared with the desired ones.
//
// It compares nothing itself, and it never fails a plan.
//
// The package is pure: no clock, files, network or goroutines.
package observe

// Package schedule is the order in which the steps of a plan run, as chains and parallel
// branches, and how long they take.
//
// It does not inspect what the steps change.
package schedule

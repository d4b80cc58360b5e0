// Package pipeline makes the plan. It collects the desired items of all phases, compares
// them with the observed and recorded ones, turns the differences into steps, checks the
// result and summarizes it.
//
// Rules about a single concept belong in the package of that concept.
//
// The package is pure: no clock, files, network or goroutines.
package pipeline

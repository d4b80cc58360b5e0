// Package pipeline makes the plan. It collects the desired items of all phases, compares
// them with what was observed and recorded, turns the differences into steps, checks the
// whole and sums it up.
//
// Rules about one concept belong into the package of that concept.
//
// The package is pure: no clock, files, network or goroutines.
package pipeline

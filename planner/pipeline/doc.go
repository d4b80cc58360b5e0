// Package pipeline makes the plan. It resolves the model, collects the desired items of all
// phases, compares them with what was observed and recorded, turns the differences into
// steps, checks the whole and sums it up. It holds the table of phases.
//
// Rules about one concept belong into the package of that concept.
//
// To add a phase: write a topology.Phase in the package that it belongs to, and name it in
// the table.
//
// The package is pure: no clock, files, network or goroutines.
package pipeline

// Package pipeline makes the plan. It collects the desired items of all phases, compares
// them with what was observed and recorded, turns the differences into steps, checks the
// whole and sums it up.
//
// Rules about one concept belong into the package of that concept.
//
// To add a phase: write a topology.Phase in the package that it belongs to, and name it in
// preflight.Table.
//
// The package is pure: no clock, files, network or goroutines.
package pipeline

// Package console is what a command takes from the machine it runs on and gives back to
// whoever started it: arguments, terminal, clock and interrupts; findings, plans, progress
// and questions; exit codes.
//
// It knows neither configuration nor state, and contacts no host.
package console

// Package console is the command's interface to the machine it runs on and to its user:
// arguments, terminal, clock and interrupts; findings, plans, progress and questions; exit
// codes.
//
// It knows neither configuration nor state, and contacts no host.
package console

// Package rationale prints the reasons of a plan for an address: the chain from the line of the
// configuration, or from the drift on a host, to the operations.
//
// It derives no reasons of its own: the plan has them.
package rationale

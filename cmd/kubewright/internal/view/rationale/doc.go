// Package rationale prints why a plan has what it has at an address: the chain from the line
// of the configuration, or from the drift on a host, to the operations.
//
// It may not derive reasons of its own: the plan has them.
package rationale

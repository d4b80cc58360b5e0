// Package stateview prints what the state records: resources, items and outputs, and what an
// edit of the state does.
//
// It may not know plans.
package stateview

// Package stateview prints what the state records: resources, items and outputs, and what an
// edit of the state does.
//
// It does not depend on plans.
package stateview

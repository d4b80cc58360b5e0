// Package planview prints a plan on a terminal: everything that the operator reads before
// confirming, and where the plan was saved.
//
// It does not know the forms for other readers: package export has them.
package planview

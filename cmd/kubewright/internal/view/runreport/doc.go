// Package runreport prints the outcome of a run: the sentence that ends it, where the time
// went, each failure, and how to continue.
//
// It prints nothing during the run: package progress does.
package runreport

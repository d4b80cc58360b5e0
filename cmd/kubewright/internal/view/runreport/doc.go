// Package runreport prints what became of a run: the sentence that ends it, where the time
// went, each failure, and how to go on.
//
// It may not print while the run goes on: package progress does.
package runreport

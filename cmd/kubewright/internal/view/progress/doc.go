// Package progress shows a run in progress, on a terminal or in a log, and which hosts have not
// answered yet while a plan observes them.
//
// It is the only package of output that waits and has goroutines; its callers pass the time in.
package progress

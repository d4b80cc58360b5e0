// Package progress shows a run while it goes on, on a terminal or in a log, and which hosts
// have not answered yet while a plan observes them.
//
// It is the one package of output that waits and has goroutines; what time it is, it is told.
package progress

// Package diff compares snapshots item by item: what is desired with what is observed, and
// what is observed with what was recorded.
//
// It makes changes and nothing of a plan: which step makes a change, and whether it is
// made at all, others decide.
package diff

// Package diff compares snapshots item by item: desired with observed, and observed with recorded.
//
// It returns changes, not steps of a plan: other packages decide which step makes a change, and
// whether it is made at all.
package diff

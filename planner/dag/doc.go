// Package dag orders things that need each other, and walks them.
//
// Graph gives one deterministic order and names a cycle. Frontier is the state machine of a walk in
// which several nodes run at once: it knows which node may start next, under named limits and by
// priority, and what a failure means for the dependants. Both are pure: no goroutines, no clock, no
// types of the planner. Neither is safe for concurrent use; its owner is one goroutine.
//
// Words: a node needs other nodes; those that need it are its dependants.
package dag

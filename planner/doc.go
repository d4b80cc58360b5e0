// Package planner turns snapshots into a plan: the changes, their steps and operations, the order,
// and the reasons.
//
// It is pure: no clock, randomness, files, network or goroutines. The same
// desired, observed and recorded snapshots give a byte-identical plan. A plan
// is data that round-trips through JSON and holds no secret; the executor runs
// it, the view prints it, and both see the same thing.
//
// Words: a Change is what happens to one item; an Operation is one effect; a Step is one phase on
// one target with its operations; a Plan is the changes and the steps in a valid order.
package planner

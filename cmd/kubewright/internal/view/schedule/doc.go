// Package schedule says in which order the steps of a plan run, as chains of what follows
// one another and what runs side by side, and how long they take.
//
// It may not look at what the steps change.
package schedule

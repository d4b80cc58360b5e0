// Package apply shows a plan, has it approved, carries it out, and records the outcome: for
// apply, destroy, and the commands that maintain etcd.
package apply

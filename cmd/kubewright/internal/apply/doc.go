// Package apply shows a plan, has it approved, carries it out, and records what became of
// it: for apply, destroy, and the commands that look after etcd.
package apply

// Package blocks prints the resources of a plan as blocks, and nodes that change in the same
// way only once.
//
// It prints nothing outside of the blocks: package planview does.
package blocks

// Package blocks prints the resources of a plan as blocks, and nodes that change in the same
// way only once.
//
// It may not print what is outside of the blocks: package planview does.
package blocks

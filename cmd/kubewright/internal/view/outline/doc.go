// Package outline is a plan as every form of it has it: resources with their phases and
// changes, the reasons, drift, and the sentences that all forms share, so that no two forms
// can disagree.
//
// It does not write to a reader: the packages above it do.
package outline

// Package ui is what all output of the program is made of: pages and their style, text
// that is safe for a terminal, values, tables, findings, prompts and JSON.
//
// It prints no plans or runs: the packages beside it do, and it imports none of them.
// Like them it takes a writer, the width of the terminal, whether to colour, and values.
// None of them has a clock, a terminal, an environment or files of its own; the commands
// find those out once and pass them in. The same values give the same bytes, so that all
// output is tested against golden files.
//
// The rules of output:
//
//   - Results, plans, progress, prompts and warnings go to stdout, errors to
//     stderr. With -json everything goes to stdout, one object per line, and
//     nothing else does.
//   - Every finding begins with "Error: " or "Warning: " and a summary without
//     a full stop; its detail is sentences with one. Commands to copy have a line
//     of their own, indented by two.
//   - Sentences that scripts read (Plan: 1 to add, 0 to change, 0 to destroy.)
//     never change by a byte, and colour never comes inside their numbers.
//   - Colour adds nothing that words or symbols do not say: + - ~ -/+.
//   - Prose is wrapped to the width; values never are, so that they can be
//     copied and searched.
//   - Whatever came from a host, an API or a file goes through Clean: no
//     control character, and none that changes the direction of writing, reaches
//     a terminal. JSON carries data as it is, and its messages clean. Sensitive
//     values are never printed in any form.
//   - What did not change is counted, not listed. What an action means to the users
//     of the cluster stands beside the action.
package ui

package view

import (
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
)

// warningsOf returns the warnings that a plan was made with.
func warningsOf(plan *planner.Plan) diag.Diagnostics {
	var out diag.Diagnostics
	for _, j := range plan.Diagnostics {
		out.Append(j.Diagnostic())
	}
	return out
}

// summaries returns what findings are called, each once, and how many are called so where
// it is more than one.
func summaries(list diag.Diagnostics) string {
	times := map[string]int{}
	var names []string
	for _, d := range list {
		if times[d.Summary]++; times[d.Summary] == 1 {
			names = append(names, d.Summary)
		}
	}
	for i, name := range names {
		names[i] = Clean(name)
		if n := times[name]; n > 1 {
			names[i] += " (" + strconv.Itoa(n) + ")"
		}
	}
	return strings.Join(names, "; ")
}

// warned names the warnings above the plan, which may have gone off the screen by its end.
func (p planPrinter) warned() {
	if list := warningsOf(p.plan); len(list) > 0 {
		p.prose(p.bold(p.yellow(plural(len(list), "warning")+" above:")) + " " + summaries(list) + ".")
		p.line()
	}
}

// proseWidth is where prose is wrapped in a form whose reader wraps no code.
const proseWidth = 90

// said returns a warning below its summary as on the terminal, line by line: where it is, and
// what is to be known. A width of endless leaves wrapping to the reader.
func said(d *diag.Diagnostic, width int) []string {
	p := newPage(Options{Width: width})
	return p.finding(d, nil, width, p.yellow)
}

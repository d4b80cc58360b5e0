// Package view holds every byte that a user sees: plans, progress, findings,
// results, state, graphs, and their JSON forms.
//
// Its functions take a writer, the width of the terminal, whether to colour,
// and values. They know no clock, no terminal, no environment and no files;
// package cli finds those out once and passes them in. The same values give
// the same bytes, so that all of it is tested against golden files.
//
// The rules of output:
//
//   - Results, plans, progress, prompts and warnings go to stdout, errors to
//     stderr. With -json everything goes to stdout, one object per line, and
//     nothing else does.
//   - Every finding begins with "Error: " or "Warning: " and a summary without
//     a full stop; its detail is sentences with one. Commands to copy stand on
//     a line of their own, indented by two.
//   - Sentences that scripts read (Plan: 1 to add, 0 to change, 0 to destroy.)
//     never change by a byte, and colour never comes inside their numbers.
//   - Colour adds nothing that is not said in words or symbols: + - ~ -/+.
//   - Prose is wrapped to the width; values never are, so that they can be
//     copied and searched.
//   - Whatever came from a host, an API or a file goes through Clean: no
//     control character, and none that turns the direction of writing, reaches
//     a terminal. JSON carries data as it is, and its messages clean. Sensitive
//     values are never printed, in no form.
//   - What did not change is counted, not listed. What an action means to those
//     who use the cluster stands beside the action.
package view

import (
	"io"
	"strings"
	"time"

	"github.com/kubewright/kubewright/state"
)

// Options say how to print.
type Options struct {
	// Width and Height are the terminal's; 0 is 80 and 24.
	Width, Height int
	// Size asks the terminal again, for a display that lives longer than one
	// size of it; nil when it does not change.
	Size func() (width, height int)
	// Color allows escape sequences.
	Color bool
	// Full lists what is otherwise compact: every attribute of what is
	// created, every operation, every node by itself.
	Full bool
	// CompactWarnings prints only the summaries of warnings.
	CompactWarnings bool
	// RefreshOnly prints a plan that only records what has changed outside.
	RefreshOnly bool
	// AllowUnreachable reports whether the flag of that name was given; and GivenAgain
	// are NAME=VALUE of the other flags that a plan does not hold, and without which
	// the same command would plan something else.
	AllowUnreachable bool
	GivenAgain       []string
	// SavedPlan is the file whose plan is carried out; empty when there is none.
	SavedPlan string
	// SavedDigest approves the plan in that file, or in one that was just saved; empty
	// where applying the file needs no approval.
	SavedDigest string
	// Recorded is what the state knows.
	Recorded Recorded
	// Parallelism is how many steps run at once, for estimates; 0 is the default.
	Parallelism int
	// Estimate is how long an apply takes, going by earlier ones; 0 is unknown.
	Estimate time.Duration
	// Expected is how long each of its steps takes; of one that nobody knows of it
	// has nothing. Steps is how many of them each target has. Expect fills in all three.
	Expected map[state.Address]time.Duration
	Steps    map[state.Target]int
}

// Recorded is what the state knows that a plan is read beside.
type Recorded struct {
	// Outputs are those of the last apply; a plan shows the differences.
	Outputs map[string]state.Value
	// Durations are seconds per state.DurationKey.
	Durations map[string]float64
}

// page collects what is printed and writes it at once.
type page struct {
	strings.Builder
	style
	width int
	full  bool
}

func newPage(o Options) *page {
	width := o.Width
	if width <= 0 {
		width = defaultWidth
	}
	return &page{style: style{color: o.Color}, width: width, full: o.Full}
}

const defaultWidth = 80

// line prints its parts and a line break.
func (p *page) line(parts ...string) {
	for _, part := range parts {
		p.WriteString(part)
	}
	p.WriteByte('\n')
}

// prose prints text wrapped to the width.
func (p *page) prose(text string) { p.line(wrap(text, p.width, "")) }

// rule prints a line across the page.
func (p *page) rule() { p.line(p.dim(strings.Repeat("─", p.width-1))) }

// framed prints lines in a frame, or without one when there is no colour. What is in it is
// wrapped to framedWidth.
func (p *page) framed(paint func(string) string, body []string) {
	left := ""
	if p.color {
		p.line(paint("╷"))
		left = paint("│") + " "
	}
	for _, line := range body {
		p.line(strings.TrimRight(left+line, " "))
	}
	if p.color {
		p.line(paint("╵"))
	}
}

// framedWidth returns the width of what is in a frame.
func (p *page) framedWidth() int {
	if p.color {
		return p.width - 2
	}
	return p.width
}

// flush writes everything in one call.
func (p *page) flush(w io.Writer) error {
	_, err := io.WriteString(w, p.String())
	return err
}

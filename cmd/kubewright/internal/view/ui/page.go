package ui

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

// Page collects what is printed and writes it at once.
type Page struct {
	strings.Builder
	Style
	Width int
	Full  bool
}

func NewPage(o Options) *Page {
	width := o.Width
	if width <= 0 {
		width = DefaultWidth
	}
	return &Page{Style: Style{Color: o.Color}, Width: width, Full: o.Full}
}

const DefaultWidth = 80

// Line prints its parts and a line break.
func (p *Page) Line(parts ...string) {
	for _, part := range parts {
		p.WriteString(part)
	}
	p.WriteByte('\n')
}

// Prose prints text wrapped to the width.
func (p *Page) Prose(text string) { p.Line(Wrap(text, p.Width, "")) }

// Rule prints a line across the page.
func (p *Page) Rule() { p.Line(p.Dim(strings.Repeat("─", p.Width-1))) }

// Framed prints lines in a frame, or without one when there is no colour. What is in it is
// wrapped to framedWidth.
func (p *Page) Framed(paint func(string) string, body []string) {
	left := ""
	if p.Color {
		p.Line(paint("╷"))
		left = paint("│") + " "
	}
	for _, line := range body {
		p.Line(strings.TrimRight(left+line, " "))
	}
	if p.Color {
		p.Line(paint("╵"))
	}
}

// FramedWidth returns the width of what is in a frame.
func (p *Page) FramedWidth() int {
	if p.Color {
		return p.Width - 2
	}
	return p.Width
}

// Flush writes everything in one call.
func (p *Page) Flush(w io.Writer) error {
	_, err := io.WriteString(w, p.String())
	return err
}

// Endless is a width that nothing is wrapped at.
const Endless = 1 << 20

package ui

import (
	"io"
	"strings"
	"time"

	"github.com/kubewright/kubewright/state"
)

// Options are the options of printing.
type Options struct {
	// Width and Height are the size of the terminal; 0 stands for 80 and 24.
	Width, Height int
	// Size asks the terminal again, for a display that outlives a change of its size; nil if it
	// never changes.
	Size func() (width, height int)
	// Color allows escape sequences.
	Color bool
	// Full shows everything that is otherwise shortened: every attribute of new items, every
	// operation, each node by itself.
	Full bool
	// CompactWarnings prints only the summaries of warnings.
	CompactWarnings bool
	// RefreshOnly prints a plan that only records what has changed outside.
	RefreshOnly bool
	// AllowUnreachable is the flag of that name. GivenAgain are NAME=VALUE of the other flags that
	// a plan does not record and without which the same command would plan something else.
	AllowUnreachable bool
	GivenAgain       []string
	// SavedPlan is the file of the plan that is applied; empty for a plan without a file.
	SavedPlan string
	// SavedDigest approves the plan in that file, or in one that was just saved; empty if the
	// file needs no approval.
	SavedDigest string
	// Recorded are the recorded values.
	Recorded Recorded
	// Parallelism is the number of steps that run at once, for estimates; 0 is the default.
	Parallelism int
	// Estimate is how long an apply takes, based on earlier ones; 0 is unknown.
	Estimate time.Duration
	// Expected is how long each of its steps takes, without those that no earlier apply has run.
	// Steps is the number of steps per target. schedule.WithForecast fills in all three.
	Expected map[state.Address]time.Duration
	Steps    map[state.Target]int
}

// Recorded is the part of the state that a plan is printed beside.
type Recorded struct {
	// Outputs are the outputs of the last apply.
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

// NewPage returns an empty page.
func NewPage(o Options) *Page {
	width := o.Width
	if width <= 0 {
		width = DefaultWidth
	}
	return &Page{Style: Style{Color: o.Color}, Width: width, Full: o.Full}
}

// DefaultWidth is the width of a page without a terminal.
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

// Framed prints lines in a frame, or without one if there is no colour. They are wrapped to
// FramedWidth.
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

// FramedWidth returns the width inside of a frame.
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

// Endless is a width at which nothing is wrapped.
const Endless = 1 << 20

package testview

import (
	"io"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
)

// Text shows results to people.
type Text struct {
	Out     io.Writer
	Options ui.Options
	Source  func(file string) []byte
}

// Begin implements Display.
func (t Text) Begin(file string) error {
	return t.line(ui.Clean(file), "... in progress")
}

// Run implements Display.
func (t Text) Run(_ string, r Run) error {
	if err := t.line("  run ", strconv.Quote(ui.Clean(r.Name)), "... ", t.painted(r.Status)); err != nil || len(r.Findings) == 0 {
		return err
	}
	if err := t.line(); err != nil {
		return err
	}
	if err := ui.Diagnostics(t.Out, r.Findings, t.Options, t.Source); err != nil || len(r.Findings) == 1 {
		return err
	}
	return t.line()
}

// End implements Display.
func (t Text) End(f File) error {
	return t.line(ui.Clean(f.Name), "... ", t.painted(f.Status()))
}

// Summary implements Display.
func (t Text) Summary(files []File) error {
	p := ui.NewPage(t.Options)
	paint := p.BoldGreen
	if Failed(files) {
		paint = p.BoldRed
	}
	word, counts, _ := strings.Cut(summary(files), " ")
	p.Line()
	p.Line(paint(word), " ", counts)
	return p.Flush(t.Out)
}

func (t Text) line(parts ...string) error {
	p := ui.NewPage(t.Options)
	p.Line(parts...)
	return p.Flush(t.Out)
}

func (t Text) painted(s Status) string {
	style := ui.NewPage(t.Options).Style
	switch s {
	case Pass:
		return style.Green(string(s))
	case Skip:
		return style.Dim(string(s))
	}
	return style.Red(string(s))
}

func plainCount(n int, word string) string { return strconv.Itoa(n) + " " + word }

package ui

import (
	"io"
)

// Prompt asks for approval; want is the only answer that gives it.
func Prompt(w io.Writer, want string, destroy bool, o Options) error {
	p := NewPage(o)
	p.Line()
	if destroy {
		p.Line(p.Bold("Do you really want to destroy all of this?"))
		p.Line("  ", Wrap("kubewright will destroy everything shown above and give clean hosts back. The data of the clusters is lost. There is no undo.", p.Width-2, "  "))
		p.Line("  Only '", Clean(want), "' will be accepted to confirm.")
	} else {
		p.Line(p.Bold("Do you want to perform these actions?"))
		p.Line("  kubewright will perform the actions described above.")
		p.Line("  Only '", Clean(want), "' will be accepted to approve.")
	}
	p.Line()
	p.WriteString("  " + p.Bold("Enter a value:") + " ")
	return p.Flush(w)
}

// AskVariable asks for the value of a variable.
func AskVariable(w io.Writer, name, description string, o Options) error {
	p := NewPage(o)
	p.Line(p.Bold("var." + Clean(name)))
	if description != "" {
		p.Line("  ", Wrap(CleanText(description), p.Width, "  "))
	}
	p.Line()
	p.WriteString("  " + p.Bold("Enter a value:") + " ")
	return p.Flush(w)
}

// Cancelled answers a prompt that was not approved.
func Cancelled(w io.Writer, destroy bool, o Options) error {
	p := NewPage(o)
	p.Line()
	if destroy {
		p.Line("Destroy cancelled.")
	} else {
		p.Line("Apply cancelled.")
	}
	return p.Flush(w)
}

// Note prints a sentence on what happens while nothing else is shown.
func Note(w io.Writer, text string, o Options) error {
	p := NewPage(o)
	p.Line()
	p.Prose(text)
	return p.Flush(w)
}

// Valid ends a validation without findings.
func Valid(w io.Writer, o Options) error {
	p := NewPage(o)
	p.Line(p.BoldGreen("Success!"), " The configuration is valid.")
	return p.Flush(w)
}

// Ask asks for approval of what is printed above it.
func Ask(w io.Writer, want string, o Options) {
	p := NewPage(o)
	p.Line()
	p.Line(p.Bold("Do you want to do this?"))
	p.Line("  Only '", Clean(want), "' will be accepted to approve.")
	p.Line()
	p.WriteString("  " + p.Bold("Enter a value:") + " ")
	_ = p.Flush(w)
}

// NothingChanged answers a question that was not approved.
func NothingChanged(w io.Writer, o Options) error {
	p := NewPage(o)
	p.Line()
	p.Line("Nothing was changed.")
	return p.Flush(w)
}

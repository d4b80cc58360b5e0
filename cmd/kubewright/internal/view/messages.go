package view

import (
	"io"
)

// Prompt asks for approval; want is the only answer that gives it.
func Prompt(w io.Writer, want string, destroy bool, o Options) error {
	p := newPage(o)
	p.line()
	if destroy {
		p.line(p.bold("Do you really want to destroy all of this?"))
		p.line("  ", wrap("kubewright will destroy everything shown above and give clean hosts back. The data of the clusters is lost. There is no undo.", p.width-2, "  "))
		p.line("  Only '", Clean(want), "' will be accepted to confirm.")
	} else {
		p.line(p.bold("Do you want to perform these actions?"))
		p.line("  kubewright will perform the actions described above.")
		p.line("  Only '", Clean(want), "' will be accepted to approve.")
	}
	p.line()
	p.WriteString("  " + p.bold("Enter a value:") + " ")
	return p.flush(w)
}

// AskVariable asks for a variable without a value.
func AskVariable(w io.Writer, name, description string, o Options) error {
	p := newPage(o)
	p.line(p.bold("var." + Clean(name)))
	if description != "" {
		p.line("  ", wrap(CleanText(description), p.width, "  "))
	}
	p.line()
	p.WriteString("  " + p.bold("Enter a value:") + " ")
	return p.flush(w)
}

// Cancelled answers a prompt that was not approved.
func Cancelled(w io.Writer, destroy bool, o Options) error {
	p := newPage(o)
	p.line()
	if destroy {
		p.line("Destroy cancelled.")
	} else {
		p.line("Apply cancelled.")
	}
	return p.flush(w)
}

// Note tells what goes on while nothing else is shown.
func Note(w io.Writer, text string, o Options) error {
	p := newPage(o)
	p.line()
	p.prose(text)
	return p.flush(w)
}

// Valid is what validate prints when there is nothing wrong.
func Valid(w io.Writer, o Options) error {
	p := newPage(o)
	p.line(p.boldGreen("Success!"), " The configuration is valid.")
	return p.flush(w)
}

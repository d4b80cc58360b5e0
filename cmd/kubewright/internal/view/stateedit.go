package view

import (
	"io"

	"github.com/kubewright/kubewright/state"
)

// StateMoved tells what has another name in the state by now, or would get one.
func StateMoved(w io.Writer, moves []state.Moved, dry bool, o Options) error {
	p := newPage(o)
	verb := "Moved "
	if dry {
		verb = "Would move "
	}
	for _, m := range moves {
		p.line(verb, p.bold(Clean(m.From.String())), " to ", p.bold(Clean(m.To.String())))
	}
	p.line()
	if dry {
		p.line("Nothing was written.")
		return p.flush(w)
	}
	p.prose("The configuration has to have the new name as well: a plan is refused as long as hosts have two, and what the configuration has by neither is destroyed by the next apply. Run kubewright plan to see that nothing is.")
	return p.flush(w)
}

// Forgotten is something that the state forgets.
type Forgotten struct {
	Target state.Target
	// Note tells it apart: its address and role.
	Note string
	// Protected reports whether prevent_destroy keeps it, which is forgotten as well.
	Protected bool
}

// StateForgets tells what would be forgotten, and what that means.
func StateForgets(w io.Writer, gone []Forgotten, dry bool, o Options) error {
	p := newPage(o)
	p.line("The state would forget, without touching any host:")
	p.line()
	protected := false
	for _, f := range gone {
		note := ""
		if f.Note != "" {
			note = "  " + p.dim("("+Clean(f.Note)+")")
		}
		p.line("  ", p.mark(forgotten), " ", p.bold(Clean(f.Target.String())), note)
		protected = protected || f.Protected
	}
	p.line()
	p.prose("They go on as they are. What is still in the configuration is found on its host by the next plan, and known again with the next apply; what is not is nobody's any more: kubewright neither looks at it nor ever removes it.")
	if protected {
		p.prose("With a target goes what the state remembers of its prevent_destroy = true.")
	}
	if dry {
		p.line()
		p.line("Nothing was written.")
	}
	return p.flush(w)
}

// StateForgot reports whether it is done.
func StateForgot(w io.Writer, n int, o Options) error {
	p := newPage(o)
	p.line()
	p.line(p.boldGreen("Forgotten: " + plural(n, "target") + "."))
	return p.flush(w)
}

// Ask asks for approval of what is printed above.
func Ask(w io.Writer, want string, o Options) {
	p := newPage(o)
	p.line()
	p.line(p.bold("Do you want to do this?"))
	p.line("  Only '", Clean(want), "' will be accepted to approve.")
	p.line()
	p.WriteString("  " + p.bold("Enter a value:") + " ")
	_ = p.flush(w)
}

// NothingChanged answers a question that was not approved.
func NothingChanged(w io.Writer, o Options) error {
	p := newPage(o)
	p.line()
	p.line("Nothing was changed.")
	return p.flush(w)
}

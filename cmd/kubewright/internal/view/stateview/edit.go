package stateview

import (
	"io"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/state"
)

// Moved prints the targets that the state has renamed, or would rename in a dry run.
func Moved(w io.Writer, moves []state.Moved, dry bool, o ui.Options) error {
	p := ui.NewPage(o)
	verb := "Moved "
	if dry {
		verb = "Would move "
	}
	for _, m := range moves {
		p.Line(verb, p.Bold(ui.Clean(m.From.String())), " to ", p.Bold(ui.Clean(m.To.String())))
	}
	p.Line()
	if dry {
		p.Line("Nothing was written.")
		return p.Flush(w)
	}
	p.Prose("The configuration has to have the new name as well: a plan is refused as long as hosts have two, and what the configuration has by neither is destroyed by the next apply. Run kubewright plan to see that nothing is.")
	return p.Flush(w)
}

// Forgotten is a target that the state forgets.
type Forgotten struct {
	Target state.Target
	// Note identifies it: its address and role.
	Note string
	// Protected reports whether prevent_destroy protects it; the state forgets that as well.
	Protected bool
}

// Forgetting prints what the state would forget, and what that means.
func Forgetting(w io.Writer, targets []Forgotten, dry bool, o ui.Options) error {
	p := ui.NewPage(o)
	p.Line("The state would forget, without touching any host:")
	p.Line()
	protected := false
	for _, f := range targets {
		note := ""
		if f.Note != "" {
			note = "  " + p.Dim("("+ui.Clean(f.Note)+")")
		}
		p.Line("  ", p.Mark(ui.Forgotten), " ", p.Bold(ui.Clean(f.Target.String())), note)
		protected = protected || f.Protected
	}
	p.Line()
	p.Prose("They stay as they are. What is still in the configuration is found on its host by the next plan, and known again with the next apply; what is not is unmanaged: kubewright neither observes it nor ever removes it.")
	if protected {
		p.Prose("The prevent_destroy = true that the state has recorded of a target is forgotten with it.")
	}
	if dry {
		p.Line()
		p.Line("Nothing was written.")
	}
	return p.Flush(w)
}

// Forgot prints how many targets the state has forgotten.
func Forgot(w io.Writer, n int, o ui.Options) error {
	p := ui.NewPage(o)
	p.Line()
	p.Line(p.BoldGreen("Forgotten: " + ui.Plural(n, "target") + "."))
	return p.Flush(w)
}

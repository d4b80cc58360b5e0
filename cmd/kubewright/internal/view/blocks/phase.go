package blocks

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/diffview"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/outline"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner"
)

// phases turns the phases of a resource into entries: a block for one with changed items, a line
// for one with operations alone.
func (p Printer) phases(phases []outline.Phase, c planner.ResourceChange, names nodeNames, reason string) []diffview.Entry {
	own := replacer(names.all, "<self>")
	width := 0
	for _, ph := range phases {
		if inOneLine(ph, c) {
			width = max(width, ansi.StringWidth(ui.PhaseName(ph.ID)))
		}
	}
	var out []diffview.Entry
	for _, ph := range phases {
		if inOneLine(ph, c) {
			out = append(out, p.phaseLine(ph, c, width)...)
			continue
		}
		out = append(out, p.phaseBlock(ph, reason, own))
	}
	return out
}

// inOneLine reports whether a phase has no items to show, or only items that the state forgets.
func inOneLine(ph outline.Phase, c planner.ResourceChange) bool {
	return len(ph.Changes) == 0 || c.Action == planner.Delete && ph.Step == nil
}

// phaseLine returns a step without items, such as a drain, a reset or an upload. Steps that only
// wait appear in the order line alone.
func (p Printer) phaseLine(ph outline.Phase, c planner.ResourceChange, width int) []diffview.Entry {
	text, sym := "", ui.SymbolOf(c.Action)
	if ph.Step != nil {
		if onlyWaits(ph.Step) && ph.Step.Impact == "" && !p.Full {
			return nil
		}
		sym = ui.SymbolOf(ph.Step.Action)
		text = outline.Effect(ph)
	} else if n := len(ph.Changes); n > 0 {
		text = ui.Plural(n, "item") + " of it forgotten"
	}
	if sym == ui.Unchanged {
		sym = ui.Changed
	}
	// The text is wrapped under itself.
	indent := strings.Repeat(" ", width+11)
	out := []diffview.Entry{{Sym: sym, Head: ui.Fill(ui.PhaseName(ph.ID), width), Text: "   " + ui.Wrap(text, p.Width, indent)}}
	if p.Full {
		for _, pod := range outline.PodsBeyondImpact(ph.Step) {
			out = append(out, diffview.Entry{Comment: true, Indented: true, Text: "# " + ui.Clean(pod.String())})
		}
	}
	return out
}

func onlyWaits(s *planner.Step) bool {
	for _, op := range s.Operations {
		if _, ok := op.(planner.Wait); !ok {
			return false
		}
	}
	return true
}

// phaseBlock returns a step with the items that it changes.
func (p Printer) phaseBlock(ph outline.Phase, shared string, own func(string) string) diffview.Entry {
	sym := phaseSymbol(ph)
	e := diffview.Entry{Sym: sym, Head: ui.PhaseName(ph.ID), Block: true}
	for _, it := range diffview.Items(ph.Changes, ph.Step) {
		kid := p.WithSettings(p.Item(it, p.Full || it.Action == planner.Update), own)
		if r := ui.Clean(it.Reason); r != shared && !outline.ImpliedByAction(it.Action, it.Reason) {
			kid.Note = r
		}
		e.Kids = append(e.Kids, kid)
	}
	diffview.Align(e.Kids)
	if ph.Step == nil {
		return e
	}
	if p.Full {
		for _, op := range ph.Step.Operations {
			e.Kids = append(e.Kids, diffview.Entry{Comment: true, Indented: true, Text: "# " + ui.Clean(op.Summary())})
		}
	}
	if ph.Step.Impact != "" {
		e.Kids = append(e.Kids, diffview.Entry{Comment: true, Text: "# " + ui.Clean(ph.Step.Impact)})
	}
	return e
}

func phaseSymbol(ph outline.Phase) ui.Symbol {
	if ph.Step != nil && ph.Step.Action != planner.NoOp && ph.Step.Action != "" {
		return ui.SymbolOf(ph.Step.Action)
	}
	first := ph.Changes[0].Action
	for _, c := range ph.Changes {
		if c.Action != first {
			return ui.Changed
		}
	}
	return ui.SymbolOf(first)
}

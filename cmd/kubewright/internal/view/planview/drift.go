package planview

import (
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/blocks"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/diffview"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/outline"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// drift prints what changed outside: in full if the plan leaves it so, and as a count if the
// plan corrects it and shows it below.
func (p printer) drift() {
	left, corrected := outline.SplitDrift(p.plan, p.o.RefreshOnly)
	if len(left)+corrected == 0 {
		return
	}
	p.Line(p.Bold("Note: "), "Objects have changed outside of kubewright")
	p.Line()
	if corrected > 0 {
		p.Prose("This plan corrects " + ui.Plural(corrected, "item") + " that changed since the last apply; look for \"" + diffview.OutsideNote + "\" below.")
		p.Line()
	}
	if len(left) > 0 {
		text := "kubewright found the following changes since the last apply that this plan does not touch:"
		if p.o.RefreshOnly {
			text = "kubewright found the following changes since the last apply:"
		}
		p.Prose(text)
		p.Line()
		for _, alike := range p.driftGroups(left) {
			p.driftItem(alike[0])
			if len(alike) > 1 {
				p.Line("  (", ui.Wrap("the same for "+ui.NodeRanges(keys(alike[1:])), p.Width-3, "   "), ")")
				p.Line()
			}
		}
	}
	p.Rule()
	p.Line()
}

func (p printer) driftItem(c planner.Change) {
	what := " has changed"
	if c.Action == planner.Delete {
		what = p.Red(" has been deleted")
	}
	p.Line("  # ", p.Bold(ui.Clean(c.Address.Target.String())), "/", ui.Clean(c.Address.Phase), what)
	p.Print([]diffview.Entry{p.Item(diffview.Item{Change: outline.WithoutOrigins(c)}, true)}, 0)
	p.Line()
	if p.o.RefreshOnly {
		p.accept(c)
	}
}

// driftGroups returns changes together that differ only in the node of one block on which they
// were made, in the order of the first of each group; in a full plan each by itself.
func (p printer) driftGroups(changes []planner.Change) [][]planner.Change {
	var groups [][]planner.Change
	place := map[string]int{}
	for _, c := range changes {
		shape := p.driftShape(c)
		i, known := place[shape]
		if !known || p.Full || c.Address.Target.Type != state.TypeNode {
			place[shape] = len(groups)
			groups = append(groups, []planner.Change{c})
			continue
		}
		groups[i] = append(groups[i], c)
	}
	return groups
}

// driftShape returns what is printed of a change, without the key of its node.
func (p printer) driftShape(c planner.Change) string {
	alone := printer{blocks.NewPrinter(ui.Options{Width: ui.Endless}), p.plan, p.o}
	alone.driftItem(c)
	node := ui.Clean(c.Address.Target.String())
	self := ui.Clean(state.NodeTarget(c.Address.Target.Name).String())
	text := strings.ReplaceAll(alone.String(), node, self)
	return strings.ReplaceAll(text, "v1/Node/"+ui.Clean(c.Address.Target.Key)+`"`, `v1/Node/`+self+`"`)
}

// keys returns the keys of the nodes on which changes were made.
func keys(changes []planner.Change) []string {
	out := make([]string, len(changes))
	for i, c := range changes {
		out[i] = ui.Clean(c.Address.Target.Key)
	}
	return out
}

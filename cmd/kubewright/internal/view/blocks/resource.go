package blocks

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/diffview"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/outline"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// Resource is a cluster, node or addon of a plan before it is laid out.
type Resource struct {
	planner.ResourceChange
	comments []string
	Entry    diffview.Entry
	names    nodeNames
	// repeatedObjects are the names of the changed objects of a cluster that changes only in
	// objects that repeat the changes of its nodes.
	repeatedObjects []string
}

// Resources returns the resources of a plan with their steps and changes.
func (p Printer) Resources(plan *planner.Plan) []Resource {
	var out []Resource
	known := map[state.Target]bool{}
	all := outline.NewIndex(plan)
	for _, r := range plan.Resources {
		if r.Action != planner.NoOp || !r.MovedFrom.IsZero() || r.ImportedFrom != "" {
			known[r.Target] = true
			out = append(out, p.resource(all, r))
		}
	}
	for _, r := range outline.Unlisted(plan, known) {
		out = append(out, p.resource(all, r))
	}
	return out
}

func (p Printer) resource(plan *outline.Index, c planner.ResourceChange) Resource {
	r := Resource{ResourceChange: c, names: nodeNamesOf(plan, c)}
	phases, reason := plan.PhasesOf(c.Target), outline.ReasonBesideVerdict(c, plan.ReasonOf(c))
	r.Entry = diffview.Entry{Sym: ui.SymbolOf(c.Action), Head: ui.BlockHead(c.Target)}
	for _, text := range outline.Losses(c.Loses) {
		r.Entry.Kids = append(r.Entry.Kids, diffview.Entry{Comment: true, Indented: true, Text: "# " + text})
	}
	r.Entry.Kids = append(r.Entry.Kids, p.phases(phases, c, r.names, reason)...)
	if c.Unchanged > 0 && (c.Action == planner.Update && len(r.Entry.Kids) > 0 || c.Action == planner.NoOp) {
		r.Entry.Kids = append(r.Entry.Kids, diffview.Entry{
			Comment: true, Indented: true, Text: "# (" + ui.Plural(c.Unchanged, "unchanged phase") + " hidden)",
		})
	}
	for _, text := range outline.PresentItems(phases, c.There, p.Full) {
		r.Entry.Kids = append(r.Entry.Kids, diffview.Entry{Comment: true, Indented: true, Text: "# " + text})
	}
	r.Entry.Block = len(r.Entry.Kids) > 0
	r.comments = p.resourceComments(c, reason)
	r.repeatedObjects = repeatedObjects(plan, c, phases)
	return r
}

// Moved returns the old and the new name of a target.
func (p Printer) Moved(m state.Moved) string {
	return p.Bold(ui.Clean(m.From.String())) + " has moved to " + p.Bold(ui.Clean(m.To.String()))
}

// resourceComments returns what happens to the resource, and why.
func (p Printer) resourceComments(c planner.ResourceChange, reason string) []string {
	verb := map[planner.Action]string{
		planner.Create:  "will be created",
		planner.Update:  "will be updated in-place",
		planner.Delete:  "will be " + p.BoldRed("destroyed"),
		planner.Replace: "must be " + p.BoldRed("replaced"),
		planner.Forget:  "will be removed from the state but will not be destroyed",
	}[c.Action]
	if c.Action == planner.Replace && c.Reason == planner.ReasonRequested {
		verb = "will be " + p.BoldRed("replaced") + ", as requested"
	}
	if c.Action == planner.NoOp && c.ImportedFrom != "" {
		from := ""
		if c.Target.Type == state.TypeCluster {
			from = "from " + ui.Clean(c.ImportedFrom)
		}
		return []string{p.Bold(ui.Clean(c.Target.String())) + " will be imported" + ui.Brackets([]string{outline.NoteOf(c), from})}
	}
	if c.Action == planner.NoOp {
		return []string{p.Moved(state.Moved{From: c.MovedFrom, To: c.Target})}
	}
	first := p.Bold(ui.Clean(c.Target.String())) + " " + verb
	note := outline.NoteOf(c)
	together := ui.Brackets([]string{note, reason})
	if !c.MovedFrom.IsZero() {
		return append([]string{first + ui.Brackets([]string{note, reason})}, "(moved from "+ui.Clean(c.MovedFrom.String())+")")
	}
	if c.ImportedFrom != "" {
		return append([]string{first + ui.Brackets([]string{note, reason})}, "(imported from "+ui.Clean(c.ImportedFrom)+")")
	}
	switch {
	case ansi.StringWidth(first+together)+4 <= p.Width:
		return []string{first + together}
	case note == "" || reason == "":
		return []string{first, strings.TrimPrefix(together, " ")}
	}
	return []string{first + " (" + note + ")", "(" + reason + ")"}
}

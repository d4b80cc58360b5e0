package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// resource is a cluster, node or addon of a plan, ready to be laid out.
type resource struct {
	planner.ResourceChange
	comments []string
	entry    entry
	names    names
	// mirrors is set for a cluster of which only the objects change that
	// repeat what its nodes get: their names.
	mirrors []string
}

// resources collects the steps and changes of a plan under what they belong to.
func (p blockPrinter) resources(plan *planner.Plan) []resource {
	var out []resource
	known := map[state.Target]bool{}
	all := indexed(plan)
	for _, r := range plan.Resources {
		if r.Action != planner.NoOp || !r.MovedFrom.IsZero() || r.ImportedFrom != "" {
			known[r.Target] = true
			out = append(out, p.resource(all, r))
		}
	}
	for _, r := range strangers(plan, known) {
		out = append(out, p.resource(all, r))
	}
	return out
}

// strangers are targets that have steps or changes but are counted nowhere in
// the plan. There should be none, but a step that changes something is never hidden.
func strangers(plan *planner.Plan, known map[state.Target]bool) []planner.ResourceChange {
	var out []planner.ResourceChange
	add := func(t state.Target, a planner.Action) {
		if !known[t] {
			known[t] = true
			out = append(out, planner.ResourceChange{Target: t, Action: a})
		}
	}
	for _, s := range plan.Steps {
		if s.Action != planner.NoOp {
			add(s.Target, planner.Update)
		}
	}
	for _, c := range plan.Changes {
		add(c.Address.Target, c.Action)
	}
	return out
}

func (p blockPrinter) resource(plan *planIndex, c planner.ResourceChange) resource {
	r := resource{ResourceChange: c, names: namesOf(plan, c)}
	phases, reason := plan.phasesOf(c.Target), besideVerdict(c, plan.reasonOf(c))
	r.entry = entry{sym: symbolOf(c.Action), head: blockHead(c.Target), kids: p.phases(phases, c, reason)}
	if c.Unchanged > 0 && (c.Action == planner.Update && len(r.entry.kids) > 0 || c.Action == planner.NoOp) {
		r.entry.kids = append(r.entry.kids, entry{
			comment: true, indented: true, text: "# (" + plural(c.Unchanged, "unchanged phase") + " hidden)",
		})
	}
	for _, text := range there(phases, c.There, p.full) {
		r.entry.kids = append(r.entry.kids, entry{comment: true, indented: true, text: "# " + text})
	}
	r.entry.block = len(r.entry.kids) > 0
	r.comments = p.resourceComments(c, reason)
	r.mirrors = mirrored(plan, c, phases)
	return r
}

// there says how much of what a phase is to bring its host has already, and which of it
// where everything is shown.
func there(phases []phase, there []state.Address, full bool) []string {
	var out []string
	for len(there) > 0 {
		id := there[0].Step()
		n := slices.IndexFunc(there, func(a state.Address) bool { return a.Step() != id })
		if n < 0 {
			n = len(there)
		}
		missing := 0
		if i := slices.IndexFunc(phases, func(ph phase) bool { return ph.id == id }); i >= 0 {
			missing = len(phases[i].changes)
		}
		text := fmt.Sprintf("%s: %d of %s there already", Clean(id.Phase), n, plural(n+missing, "item"))
		if full {
			text += ": " + strings.Join(itemNames(there[:n]), ", ")
		}
		out = append(out, text)
		there = there[n:]
	}
	return out
}

// itemNames returns the items of one step.
func itemNames(of []state.Address) []string {
	var out []string
	for _, a := range of {
		out = append(out, Clean(a.Item))
	}
	return out
}

// moved says how a target is called in the state by now.
func (p blockPrinter) moved(m state.Moved) string {
	return p.bold(Clean(m.From.String())) + " has moved to " + p.bold(Clean(m.To.String()))
}

// resourceComments say what becomes of the resource, and why.
func (p blockPrinter) resourceComments(c planner.ResourceChange, reason string) []string {
	verb := map[planner.Action]string{
		planner.Create:  "will be created",
		planner.Update:  "will be updated in-place",
		planner.Delete:  "will be " + p.boldRed("destroyed"),
		planner.Replace: "must be " + p.boldRed("replaced"),
		planner.Forget:  "will be removed from the state but will not be destroyed",
	}[c.Action]
	if c.Action == planner.Replace && c.Reason == planner.ReasonRequested {
		verb = "will be " + p.boldRed("replaced") + ", as requested"
	}
	if c.Action == planner.NoOp && c.ImportedFrom != "" {
		from := ""
		if c.Target.Type == state.TypeCluster {
			from = "from " + Clean(c.ImportedFrom)
		}
		return []string{p.bold(Clean(c.Target.String())) + " will be imported" + brackets([]string{noteOf(c), from})}
	}
	if c.Action == planner.NoOp {
		return []string{p.moved(state.Moved{From: c.MovedFrom, To: c.Target})}
	}
	first := p.bold(Clean(c.Target.String())) + " " + verb
	note := noteOf(c)
	together := brackets([]string{note, reason})
	if !c.MovedFrom.IsZero() {
		return append([]string{first + brackets([]string{note, reason})}, "(moved from "+Clean(c.MovedFrom.String())+")")
	}
	if c.ImportedFrom != "" {
		return append([]string{first + brackets([]string{note, reason})}, "(imported from "+Clean(c.ImportedFrom)+")")
	}
	switch {
	case ansi.StringWidth(first+together)+4 <= p.width:
		return []string{first + together}
	case note == "" || reason == "":
		return []string{first, strings.TrimPrefix(together, " ")}
	}
	return []string{first + " (" + note + ")", "(" + reason + ")"}
}

// noteOf returns the resource's note without what its address says already.
func noteOf(c planner.ResourceChange) string {
	note := Clean(c.Note)
	if c.Target.Keyed {
		note = strings.TrimPrefix(note, Clean(c.Target.Key)+", ")
	}
	return note
}

// reasonOf is why, in every form of a plan: the resource's own reason, or that of all
// its changes where they agree and it is not what the action says anyway. A destroy
// has none: what it takes away is no less in the configuration.
func (x *planIndex) reasonOf(c planner.ResourceChange) string {
	if x.Destroy {
		return ""
	}
	if c.Reason != "" {
		return Clean(c.Reason)
	}
	common, ok := x.commonReason(c.Target)
	if !ok || ordinary(c.Action, common) {
		return ""
	}
	return Clean(common)
}

// besideVerdict returns a reason where the sentence on what becomes of the resource stands
// beside it, which says itself what was requested.
func besideVerdict(c planner.ResourceChange, reason string) string {
	if c.Action == planner.Replace && reason == planner.ReasonRequested {
		return ""
	}
	return reason
}

func (x *planIndex) commonReason(t state.Target) (string, bool) {
	var reasons []string
	for _, i := range x.changesOf[t] {
		reasons = append(reasons, x.Changes[i].Reason)
	}
	slices.Sort(reasons)
	reasons = slices.Compact(reasons)
	if len(reasons) != 1 {
		return "", false
	}
	return reasons[0], true
}

// impactsOf returns what the steps of a target mean, each sentence once.
func (x *planIndex) impactsOf(t state.Target) []string {
	var out []string
	for _, i := range x.stepsOf[t] {
		if text := Clean(x.Steps[i].Impact); text != "" && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// ordinary reports whether a reason says no more than its action.
func ordinary(a planner.Action, reason string) bool {
	switch reason {
	case "":
		return true
	case planner.ReasonNew: // of what is made on a node that is there, the node is there all the same
		return a == planner.Create || a == planner.Update
	case planner.ReasonConfigured:
		return a == planner.Update
	case planner.ReasonUnconfigured: // of what is taken away from a node that stays, the node is not
		return a == planner.Delete || a == planner.Forget || a == planner.Update
	}
	return false
}

// phase is a step of a resource with the changes that it makes.
type phase struct {
	id      state.Address
	step    *planner.Step
	changes []planner.Change
}

// planIndex is a plan of which the steps and changes of each target are found
// without a search: a plan may have thousands of targets.
type planIndex struct {
	*planner.Plan
	// stepsOf and changesOf are places in Steps and Changes.
	stepsOf, changesOf map[state.Target][]int
}

func indexed(plan *planner.Plan) *planIndex {
	x := &planIndex{Plan: plan, stepsOf: map[state.Target][]int{}, changesOf: map[state.Target][]int{}}
	for i := range plan.Steps {
		t := plan.Steps[i].Target
		x.stepsOf[t] = append(x.stepsOf[t], i)
	}
	for i := range plan.Changes {
		t := plan.Changes[i].Address.Target
		x.changesOf[t] = append(x.changesOf[t], i)
	}
	return x
}

// phasesOf collects the steps of a target in the order of the plan, and its
// changes without a step behind them.
func (x *planIndex) phasesOf(t state.Target) []phase {
	var out []phase
	place := map[state.Address]int{}
	for _, i := range x.stepsOf[t] {
		s := &x.Steps[i]
		place[s.ID] = len(out)
		out = append(out, phase{id: s.ID, step: s})
	}
	for _, n := range x.changesOf[t] {
		c := x.Changes[n]
		id := c.Address.Step()
		i, ok := place[id]
		if !ok {
			i = len(out)
			place[id] = i
			out = append(out, phase{id: id})
		}
		out[i].changes = append(out[i].changes, c)
	}
	return out
}

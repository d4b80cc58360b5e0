package outline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// Unlisted returns targets that have steps or changes but are not among the resources of the plan.
// There should be none, but a step that changes something is never hidden.
func Unlisted(plan *planner.Plan, known map[state.Target]bool) []planner.ResourceChange {
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

// PresentItems returns per phase how many of its items the host has already, and which ones in a
// full plan.
func PresentItems(phases []Phase, there []state.Address, full bool) []string {
	var out []string
	for len(there) > 0 {
		id := there[0].Step()
		n := slices.IndexFunc(there, func(a state.Address) bool { return a.Step() != id })
		if n < 0 {
			n = len(there)
		}
		missing := 0
		if i := slices.IndexFunc(phases, func(ph Phase) bool { return ph.ID == id }); i >= 0 {
			missing = len(phases[i].Changes)
		}
		text := fmt.Sprintf("%s: %d of %s there already", ui.Clean(id.Phase), n, ui.Plural(n+missing, "item"))
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
		out = append(out, ui.Clean(a.Item))
	}
	return out
}

// NoteOf returns the resource's note without what its address says already.
func NoteOf(c planner.ResourceChange) string {
	note := ui.Clean(c.Note)
	if c.Target.Keyed {
		note = strings.TrimPrefix(note, ui.Clean(c.Target.Key)+", ")
	}
	return note
}

// ReasonOf returns the reason of a resource, the same in every form of a plan: its own, or the
// common reason of all its changes if the action does not imply it. A destroy has none, since
// what it removes is still in the configuration.
func (x *Index) ReasonOf(c planner.ResourceChange) string {
	if x.Destroy {
		return ""
	}
	if c.Reason != "" {
		return ui.Clean(c.Reason)
	}
	common, ok := x.commonReason(c.Target)
	if !ok || ImpliedByAction(c.Action, common) {
		return ""
	}
	return ui.Clean(common)
}

// ReasonBesideVerdict returns the reason to print beside the verdict; empty if the verdict
// already says it.
func ReasonBesideVerdict(c planner.ResourceChange, reason string) string {
	if c.Action == planner.Replace && reason == planner.ReasonRequested {
		return ""
	}
	return reason
}

func (x *Index) commonReason(t state.Target) (string, bool) {
	var reasons []string
	for _, i := range x.ChangesOf[t] {
		reasons = append(reasons, x.Changes[i].Reason)
	}
	slices.Sort(reasons)
	reasons = slices.Compact(reasons)
	if len(reasons) != 1 {
		return "", false
	}
	return reasons[0], true
}

// ImpactsOf returns what ends with a target, and the impacts of its steps, each once.
func (x *Index) ImpactsOf(t state.Target) []string {
	var out []string
	for i := range x.Resources {
		if x.Resources[i].Loses != nil && x.Resources[i].Target == t {
			out = append(out, Losses(x.Resources[i].Loses)...)
		}
	}
	for _, i := range x.StepsOf[t] {
		if text := ui.Clean(x.Steps[i].Impact); text != "" && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// ImpliedByAction reports whether a reason says no more than its action.
func ImpliedByAction(a planner.Action, reason string) bool {
	switch reason {
	case "":
		return true
	case planner.ReasonNew: // an item that is created on an existing node: the node is not new
		return a == planner.Create || a == planner.Update
	case planner.ReasonConfigured:
		return a == planner.Update
	case planner.ReasonUnconfigured: // an item that is removed from a node that stays: the node is configured
		return a == planner.Delete || a == planner.Forget || a == planner.Update
	}
	return false
}

// Phase is a step of a resource with the changes that it makes.
type Phase struct {
	ID      state.Address
	Step    *planner.Step
	Changes []planner.Change
}

// Index is a plan with the steps and changes by target, since a plan may have thousands of
// targets.
type Index struct {
	*planner.Plan
	// StepsOf and ChangesOf are indexes into Steps and Changes.
	StepsOf, ChangesOf map[state.Target][]int
}

// NewIndex returns the index of a plan.
func NewIndex(plan *planner.Plan) *Index {
	x := &Index{Plan: plan, StepsOf: map[state.Target][]int{}, ChangesOf: map[state.Target][]int{}}
	for i := range plan.Steps {
		t := plan.Steps[i].Target
		x.StepsOf[t] = append(x.StepsOf[t], i)
	}
	for i := range plan.Changes {
		t := plan.Changes[i].Address.Target
		x.ChangesOf[t] = append(x.ChangesOf[t], i)
	}
	return x
}

// PhasesOf returns the steps of a target in the order of the plan, then its changes without a
// step.
func (x *Index) PhasesOf(t state.Target) []Phase {
	var out []Phase
	place := map[state.Address]int{}
	for _, i := range x.StepsOf[t] {
		s := &x.Steps[i]
		place[s.ID] = len(out)
		out = append(out, Phase{ID: s.ID, Step: s})
	}
	for _, n := range x.ChangesOf[t] {
		c := x.Changes[n]
		id := c.Address.Step()
		i, ok := place[id]
		if !ok {
			i = len(out)
			place[id] = i
			out = append(out, Phase{ID: id})
		}
		out[i].Changes = append(out[i].Changes, c)
	}
	return out
}

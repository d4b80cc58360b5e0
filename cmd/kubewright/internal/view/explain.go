package view

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/state"
)

// Explain prints why a plan has what it has at an address, of a cluster, node or
// addon, of a step, or of an item or a field of it: the chain from the line of
// the configuration, or from what somebody did to a host, to the operations.
func Explain(w io.Writer, plan *planner.Plan, at state.Address, o Options) error {
	r := newReview(plan, o)
	p := newPage(o)
	e := explainer{p, r, at}
	found := 0
	for _, x := range r.resources {
		if x.Target == at.Target {
			found += e.resource(x)
		}
	}
	for _, d := range r.Drift {
		if e.drift(d) {
			found++
		}
	}
	if found == 0 {
		return notInPlan(plan, at)
	}
	return p.flush(w)
}

// explainer prints what a plan says of one address.
type explainer struct {
	*page
	review *review
	at     state.Address
}

// about tells whether the address asked for is this one, or above it.
func (e explainer) about(a state.Address) bool {
	return (e.at.Phase == "" || e.at.Phase == a.Phase && e.at.Waypoint == a.Waypoint) && (e.at.Item == "" || e.at.Item == a.Item)
}

// resource explains a resource or what is asked for of it, and counts what it found.
func (e explainer) resource(x reviewed) int {
	found := 0
	if e.at.Phase == "" {
		found++
		e.line(e.bold(Clean(x.Target.String())), " ", x.verdict, brackets([]string{noteOf(x.ResourceChange)}), ".")
		if x.reason != "" {
			e.because("  ", x.reason)
		}
		e.line()
	}
	for _, p := range x.phases {
		if !e.about(state.Address{Target: p.id.Target, Phase: p.id.Phase, Waypoint: p.id.Waypoint, Item: e.at.Item}) {
			continue
		}
		shown := 0
		for _, it := range p.items {
			if e.about(it.Address) && e.item(it) {
				shown++
			}
		}
		if shown > 0 || e.at.Item == "" {
			found++
			e.step(p)
		}
	}
	return found
}

// item explains one changed item, or one field of it.
func (e explainer) item(it reviewedItem) bool {
	var changes []planner.AttributeChange
	for _, a := range it.Attributes {
		if e.at.Field == "" || a.Path == e.at.Field || strings.HasPrefix(a.Path, e.at.Field+".") || strings.HasPrefix(a.Path, e.at.Field+"[") {
			changes = append(changes, a)
		}
	}
	if e.at.Field != "" && len(changes) == 0 {
		return false
	}
	e.line(e.bold(Clean(it.Address.String())), ": ", string(it.Action))
	e.because("  ", it.Reason)
	for _, a := range changes {
		e.line("    ", Clean(a.Path), ": ", attributeText(a))
		for _, path := range slices.Sorted(maps.Keys(a.Origins)) {
			e.line("      ", Clean(path), ": ", origin(a.Origins[path]))
		}
		if from := origin(a.Origin); from != "" && a.Origins == nil {
			e.line("      ", from)
		}
	}
	e.line()
	return true
}

// attributeText is a change on one line; text of several lines is counted.
func attributeText(a planner.AttributeChange) string {
	if multiline(a.Before) || multiline(a.After) {
		return plural(len(textLines(a.Before)), "line") + " -> " + plural(len(textLines(a.After)), "line")
	}
	if a.Before.Kind() == state.KindSensitive && a.After.Kind() == state.KindSensitive {
		return secretChange(a.Before, a.After)
	}
	if a.Before.IsNull() {
		return inline(shortDigest(a.After))
	}
	return inline(shortDigest(a.Before)) + " -> " + inline(shortDigest(a.After))
}

// origin says who wants a value.
func origin(s state.Source) string {
	switch {
	case s.File != "":
		return "because " + Clean(s.String()) + " says so"
	case s.Default != "":
		return "because that is the default of " + Clean(s.Default)
	}
	return ""
}

// because prints a reason, and what it means where that is not plain.
func (e explainer) because(indent, reason string) {
	text := Clean(reason)
	if more := reasons[reason]; more != "" {
		text += ": " + more
	}
	e.line(indent, wrap(text, e.width-len(indent), indent))
}

// reasons are the reasons of changes in more words.
var reasons = map[string]string{
	planner.ReasonNew:          "the configuration asks for it, it is not on the host or in the API, and no apply has made it",
	planner.ReasonConfigured:   "what is there is not what the configuration asks for now",
	planner.ReasonDrift:        "the configuration asks for what the last apply left there, and something else is there now",
	planner.ReasonUnconfigured: "an earlier apply made it, and the configuration does not ask for it any more",
	planner.ReasonIncomplete:   "what an earlier apply began is carried to its end",
	planner.ReasonDue:          "it ends soon, and is renewed as certificates.renew_before says",
	planner.ReasonRequested:    "a flag of this command asks for it",
}

// step explains when and how a step runs.
func (e explainer) step(p reviewedPhase) {
	if p.step == nil {
		return
	}
	e.line(e.bold("step "+stepName(p.id)), ", ", e.place(p.id))
	if p.step.Impact != "" {
		e.line("  ", e.yellow(wrap(Clean(p.step.Impact), e.width, "  ")))
	}
	for _, pod := range podsBeside(p.step) {
		e.line("    ", wrap(Clean(pod.String()), e.width, "    "))
	}
	if took := estimated(p.span); took != "" {
		e.line("  takes about ", took, ", going by the last time")
	}
	for _, need := range p.step.Needs {
		e.line("  waits for ", Clean(need.String()), e.what(need))
	}
	for _, limit := range p.step.Limits {
		e.line("  takes turns under ", Clean(limit), " (", itoa(max(1, e.review.Limits[limit])), " at once)")
	}
	for _, gate := range p.step.Gates {
		e.line("  only if, right before it, ", Clean(gate), " holds")
	}
	for _, s := range e.review.Steps {
		if slices.Contains(s.Needs, p.id) {
			e.line("  before ", Clean(s.ID.String()), e.what(s.ID))
		}
	}
	for i, op := range p.step.Operations {
		e.line("  ", pad2(i+1), ". ", Clean(op.Summary()))
	}
	e.line()
}

// place is where a step stands in the plan and in its longest chain.
func (e explainer) place(id state.Address) string {
	text := ""
	for i, s := range e.review.Steps {
		if s.ID == id {
			text = itoa(i+1) + " of " + itoa(len(e.review.Steps))
		}
	}
	if tells(e.review.timeline) && slices.ContainsFunc(e.review.timeline.Critical, func(s executor.Span) bool { return s.Step == id }) {
		text += ", in the longest chain"
	}
	return text
}

// what a step means, behind its name.
func (e explainer) what(id state.Address) string {
	if s := e.review.Step(id); s != nil && s.Impact != "" {
		return ": " + Clean(s.Impact)
	}
	return ""
}

// drift tells what somebody else did, where that is asked for.
func (e explainer) drift(d planner.Change) bool {
	if d.Address.Target != e.at.Target || !e.about(d.Address) {
		return false
	}
	e.line(e.bold(Clean(d.Address.String())), " was changed outside of kubewright since the last apply")
	if d.Action == planner.Delete {
		e.line("    it is gone")
	}
	for _, a := range d.Attributes {
		e.line("    ", Clean(a.Path), ": ", attributeText(a))
	}
	e.line()
	return true
}

// notInPlan says that there is nothing to explain, and of what there is.
func notInPlan(plan *planner.Plan, at state.Address) error {
	var near []string
	for _, c := range plan.Changes {
		if c.Address.Target == at.Target && len(near) < maxNear {
			near = append(near, "  "+Clean(c.Address.String()))
		}
	}
	if len(near) == 0 {
		for _, r := range reviewable(plan) {
			if len(near) < maxNear {
				near = append(near, "  "+Clean(r.Target.String()))
			}
		}
	}
	text := "the plan does nothing at " + Clean(at.String()) + ": it is as it should be, it is not in configuration and state, or it is left alone"
	if len(near) > 0 {
		text += ". Of what the plan changes there are:\n\n" + strings.Join(near, "\n")
	}
	return fmt.Errorf("%s", text)
}

// maxNear is how many addresses are named in place of one that is not there.
const maxNear = 12

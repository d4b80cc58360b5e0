package view

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/config"
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
	for _, u := range r.Withheld {
		if e.withheld(u) {
			found++
		}
	}
	for _, x := range r.resources {
		if config.Covers(at.Target, x.Target) {
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

// about reports whether the address asked for is this one, or above it. A phase without a
// waypoint is meant at each of them.
func (e explainer) about(a state.Address) bool {
	step := e.at.Phase == "" || e.at.Phase == a.Phase && (e.at.Waypoint == "" || e.at.Waypoint == a.Waypoint)
	return step && (e.at.Item == "" || e.at.Item == a.Item)
}

// withheld explains why nothing is planned where nobody could look.
func (e explainer) withheld(u state.Unobserved) bool {
	if !config.Covers(e.at.Target, u.Target) {
		return false
	}
	e.line(e.bold(Clean(u.Target.String())), " could not be looked at, and is left alone.")
	e.line("  ", wrap(sentenceOf(u.Reason), e.width-2, "  "))
	if u.Remedy != "" {
		e.line("  ", wrap("To do: "+sentenceOf(u.Remedy), e.width-2, "  "))
	}
	e.line()
	return true
}

// sentenceOf ends a clause with a full stop.
func sentenceOf(s string) string { return strings.TrimSuffix(Clean(s), ".") + "." }

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
		e.line("    ", Clean(a.Path), ": ", attributeText(a, it.Action))
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

// attributeText returns a change on one line; text of several lines is counted. Of what is
// new as a whole nothing was there before.
func attributeText(a planner.AttributeChange, of planner.Action) string {
	if multiline(a.Before) || multiline(a.After) {
		return plural(len(textLines(a.Before)), "line") + " -> " + plural(len(textLines(a.After)), "line")
	}
	if a.Before.Kind() == state.KindSensitive && a.After.Kind() == state.KindSensitive {
		return secretChange(a.Before, a.After)
	}
	if a.Before.IsNull() && of == planner.Create {
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
		e.other("waits for ", need)
	}
	for _, limit := range p.step.Limits {
		e.line("  takes turns under ", Clean(limit), " (", strconv.Itoa(max(1, e.review.Limits[limit])), " at once)")
	}
	for _, gate := range p.step.Gates {
		e.line("  only if, right before it, ", gateText(gate))
	}
	for _, s := range e.review.Steps {
		if slices.Contains(s.Needs, p.id) {
			e.other("before ", s.ID)
		}
	}
	for i, op := range p.step.Operations {
		e.line("  ", fmt.Sprintf("%2d", i+1), ". ", Clean(op.Summary()))
	}
	e.line()
}

// other names another step, and what that means.
func (e explainer) other(how string, id state.Address) {
	e.line("  ", wrap(how+Clean(id.String())+e.what(id), e.width-2, "    "))
}

// gateText returns what has to be so right before a step, in words.
func gateText(gate string) string {
	switch gate {
	case planner.QuorumGate:
		return "etcd keeps its quorum"
	case planner.DowntimeGate:
		return "both members of etcd are there, so that it only pauses"
	case planner.APIGate:
		return "another API server serves"
	case planner.WorkersGate:
		return "no more workers are down than may be"
	case planner.GoneGate:
		return "neither its kubelet nor its etcd is heard of"
	case planner.SilenceGate:
		return "no quorum of etcd answers"
	}
	return Clean(gate) + " holds"
}

// place returns where a step stands in the plan and in its longest chain.
func (e explainer) place(id state.Address) string {
	text := ""
	for i, s := range e.review.Steps {
		if s.ID == id {
			text = strconv.Itoa(i+1) + " of " + strconv.Itoa(len(e.review.Steps))
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
	if !config.Covers(e.at.Target, d.Address.Target) || !e.about(d.Address) {
		return false
	}
	e.line(e.bold(Clean(d.Address.String())), " was changed outside of kubewright since the last apply")
	if d.Action == planner.Delete {
		e.line("    it is gone")
	}
	for _, a := range d.Attributes {
		e.line("    ", Clean(a.Path), ": ", attributeText(a, d.Action))
	}
	e.line()
	return true
}

// notInPlan says that there is nothing to explain, and of what there is near.
func notInPlan(plan *planner.Plan, at state.Address) error {
	text := "the plan does nothing at " + Clean(at.String()) + ": it is as it should be, or it is left alone"
	if !slices.ContainsFunc(plan.Resources, func(r planner.ResourceChange) bool { return config.Covers(at.Target, r.Target) }) {
		text = "the plan knows no " + Clean(at.Target.String()) + ": it is in neither configuration nor state, or it is left out"
	}
	if near := nearby(plan, at); len(near) > 0 {
		text += ". Of what the plan changes there are:\n\n  " + strings.Join(near[:min(len(near), maxNear)], "\n  ")
		if left := len(near) - maxNear; left > 0 {
			text += "\n  and " + strconv.Itoa(left) + " more"
		}
	}
	return fmt.Errorf("%s", text)
}

// nearby returns the addresses of a plan that are nearest to one that it has not: other fields
// of the same item, other items of the same phase, other phases, or what else there is.
func nearby(plan *planner.Plan, at state.Address) []string {
	var fields, items, phases, resources []string
	add := func(list *[]string, a fmt.Stringer) {
		if text := Clean(a.String()); !slices.Contains(*list, text) {
			*list = append(*list, text)
		}
	}
	for _, c := range slices.Concat(plan.Changes, plan.Drift) {
		e := explainer{at: state.Address{Phase: at.Phase, Waypoint: at.Waypoint}}
		if !config.Covers(at.Target, c.Address.Target) || !e.about(c.Address) {
			continue
		}
		add(&items, c.Address)
		for _, a := range c.Attributes {
			if field := c.Address; c.Address.Item == at.Item {
				field.Field = a.Path
				add(&fields, field)
			}
		}
	}
	for _, s := range plan.Steps {
		if config.Covers(at.Target, s.Target) {
			add(&phases, s.ID)
		}
	}
	for _, r := range reviewable(plan) {
		add(&resources, r.Target)
	}
	for _, list := range [][]string{fields, items, phases, resources} {
		if len(list) > 0 {
			return list
		}
	}
	return nil
}

// maxNear is how many addresses are named in place of one that is not there.
const maxNear = 12

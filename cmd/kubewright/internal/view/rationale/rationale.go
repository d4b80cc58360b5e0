package rationale

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/outline"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/schedule"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/state"
)

// Explain prints the reasons of a plan for the address of a cluster, node or addon, a step, an
// item or a field of one: the chain from the line of the configuration, or from the drift on a
// host, to the operations.
func Explain(w io.Writer, plan *planner.Plan, at state.Address, o ui.Options) error {
	r := outline.NewReview(plan, o)
	p := ui.NewPage(o)
	e := explainer{p, r, at}
	found := 0
	for _, u := range r.Withheld {
		if e.withheld(u) {
			found++
		}
	}
	for i, w := range outline.Withheld(plan) {
		if step := plan.WithheldSteps[i].Step; config.Covers(at.Target, step.Target) && e.covers(step) {
			found++
			e.Line(e.Bold(w.Address), " is withheld.")
			e.Line("  ", ui.Wrap(sentenceOf(w.Why), e.Width-2, "  "))
			for _, what := range w.What {
				e.Line("  ", ui.Wrap(what, e.Width-2, "    "))
			}
			e.Line()
		}
	}
	for _, x := range r.Resources {
		if config.Covers(at.Target, x.Target) {
			found += e.resource(x)
		}
	}
	for _, d := range r.Plan.Drift {
		if e.drift(d) {
			found++
		}
	}
	if found == 0 {
		return notInPlan(plan, at)
	}
	return p.Flush(w)
}

// explainer prints the part of a plan at one address.
type explainer struct {
	*ui.Page
	review *outline.Review
	at     state.Address
}

// covers reports whether the address asked for is this one, or above it. A phase without a
// waypoint stands for all of its waypoints.
func (e explainer) covers(a state.Address) bool {
	step := e.at.Phase == "" || e.at.Phase == a.Phase && (e.at.Waypoint == "" || e.at.Waypoint == a.Waypoint)
	return step && (e.at.Item == "" || e.at.Item == a.Item)
}

// withheld explains why nothing is planned for a target that could not be observed.
func (e explainer) withheld(u state.Unobserved) bool {
	if !config.Covers(e.at.Target, u.Target) {
		return false
	}
	e.Line(e.Bold(ui.Clean(u.Target.String())), " could not be observed, and is left alone.")
	e.Line("  ", ui.Wrap(sentenceOf(u.Reason), e.Width-2, "  "))
	if u.Remedy != "" {
		e.Line("  ", ui.Wrap("To do: "+sentenceOf(u.Remedy), e.Width-2, "  "))
	}
	e.Line()
	return true
}

// sentenceOf ends a clause with a full stop.
func sentenceOf(s string) string { return strings.TrimSuffix(ui.Clean(s), ".") + "." }

// resource explains a resource or the part of it that is asked for, and returns how much it found.
func (e explainer) resource(x outline.ReviewedResource) int {
	found := 0
	if e.at.Phase == "" {
		found++
		e.Line(e.Bold(ui.Clean(x.Target.String())), " ", x.Verdict, ui.Brackets([]string{outline.NoteOf(x.ResourceChange)}), ".")
		if x.Reason != "" {
			e.reason("  ", x.Reason)
		}
		e.Line()
	}
	for _, p := range x.Phases {
		if !e.covers(state.Address{Target: p.ID.Target, Phase: p.ID.Phase, Waypoint: p.ID.Waypoint, Item: e.at.Item}) {
			continue
		}
		shown := 0
		for _, it := range p.Items {
			if e.covers(it.Address) && e.item(it) {
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
func (e explainer) item(it outline.ReviewedItem) bool {
	var changes []planner.AttributeChange
	for _, a := range it.Attributes {
		if e.at.Field == "" || a.Path == e.at.Field || strings.HasPrefix(a.Path, e.at.Field+".") || strings.HasPrefix(a.Path, e.at.Field+"[") {
			changes = append(changes, a)
		}
	}
	if e.at.Field != "" && len(changes) == 0 {
		return false
	}
	e.Line(e.Bold(ui.Clean(it.Address.String())), ": ", string(it.Action))
	e.reason("  ", it.Reason)
	for _, a := range changes {
		e.Line("    ", ui.Clean(a.Path), ": ", attributeText(a, it.Action))
		for _, path := range slices.Sorted(maps.Keys(a.Origins)) {
			e.Line("      ", ui.Clean(path), ": ", origin(a.Origins[path]))
		}
		if from := origin(a.Origin); from != "" && a.Origins == nil {
			e.Line("      ", from)
		}
	}
	e.Line()
	return true
}

// attributeText returns a change on one line; text of several lines is counted. A new item has no
// value before.
func attributeText(a planner.AttributeChange, of planner.Action) string {
	if ui.Multiline(a.Before) || ui.Multiline(a.After) {
		return ui.Plural(len(ui.TextLines(a.Before)), "line") + " -> " + ui.Plural(len(ui.TextLines(a.After)), "line")
	}
	if a.Before.Kind() == state.KindSensitive && a.After.Kind() == state.KindSensitive {
		return ui.SecretChange(a.Before, a.After)
	}
	if a.Before.IsNull() && of == planner.Create {
		return ui.Inline(ui.ShortDigest(a.After))
	}
	return ui.Inline(ui.ShortDigest(a.Before)) + " -> " + ui.Inline(ui.ShortDigest(a.After))
}

// origin returns what sets a value: a line of the configuration or a default.
func origin(s state.Source) string {
	switch {
	case s.File != "" && s.Control != "":
		return "because " + ui.Clean(s.String()) + " says so, for " + ui.Clean(s.Control)
	case s.File != "":
		return "because " + ui.Clean(s.String()) + " says so"
	case s.Default != "":
		return "because that is the default of " + ui.Clean(s.Default)
	}
	return ""
}

// reason prints a reason, with an explanation if the words alone are not clear.
func (e explainer) reason(indent, reason string) {
	text := ui.Clean(reason)
	if more := reasonTexts[reason]; more != "" {
		text += ": " + more
	}
	e.Line(indent, ui.Wrap(text, e.Width-len(indent), indent))
}

// reasonTexts explain the reasons of changes.
var reasonTexts = map[string]string{
	planner.ReasonNew:          "the configuration asks for it, it is not on the host or in the API, and no apply has made it",
	planner.ReasonConfigured:   "what is there is not what the configuration asks for now",
	planner.ReasonDrift:        "the configuration asks for what the last apply left there, and something else is there now",
	planner.ReasonUnconfigured: "an earlier apply made it, and the configuration does not ask for it any more",
	planner.ReasonIncomplete:   "what an earlier apply began is carried to its end",
	planner.ReasonDue:          "it expires soon, and is renewed as certificates.renew_before says",
	planner.ReasonRequested:    "a flag of this command asks for it",
}

// step explains when and how a step runs.
func (e explainer) step(p outline.ReviewedPhase) {
	if p.Step == nil {
		return
	}
	e.Line(e.Bold("step "+ui.StepName(p.ID)), ", ", e.position(p.ID))
	if p.Step.Impact != "" {
		e.Line("  ", e.Yellow(ui.Wrap(ui.Clean(p.Step.Impact), e.Width, "  ")))
	}
	for _, pod := range outline.PodsBeyondImpact(p.Step) {
		e.Line("    ", ui.Wrap(ui.Clean(pod.String()), e.Width, "    "))
	}
	if took := schedule.SpanText(p.Span); took != "" {
		e.Line("  takes about ", took, ", going by the last time")
	}
	for _, need := range p.Step.Needs {
		e.relatedStep("waits for ", need)
	}
	for _, limit := range p.Step.Limits {
		e.Line("  takes turns under ", ui.Clean(limit), " (", strconv.Itoa(max(1, e.review.Limits[limit])), " at once)")
	}
	for _, gate := range p.Step.Gates {
		e.Line("  only if, right before it, ", outline.GateCondition(gate))
	}
	for _, s := range e.review.Steps {
		if slices.Contains(s.Needs, p.ID) {
			e.relatedStep("before ", s.ID)
		}
	}
	for i, op := range p.Step.Operations {
		e.Line("  ", fmt.Sprintf("%2d", i+1), ". ", ui.Clean(op.Summary()))
	}
	e.Line()
}

// relatedStep prints another step and its impact.
func (e explainer) relatedStep(how string, id state.Address) {
	e.Line("  ", ui.Wrap(how+ui.Clean(id.String())+e.impactOf(id), e.Width-2, "    "))
}

// position returns the place of a step in the plan, and whether it is in the longest chain.
func (e explainer) position(id state.Address) string {
	text := ""
	for i, s := range e.review.Steps {
		if s.ID == id {
			text = strconv.Itoa(i+1) + " of " + strconv.Itoa(len(e.review.Steps))
		}
	}
	if schedule.Measurable(e.review.Timeline) && slices.ContainsFunc(e.review.Timeline.Critical, func(s executor.Span) bool { return s.Step == id }) {
		text += ", in the longest chain"
	}
	return text
}

// impactOf returns the impact of a step, to follow its name.
func (e explainer) impactOf(id state.Address) string {
	if s := e.review.Step(id); s != nil && s.Impact != "" {
		return ": " + ui.Clean(s.Impact)
	}
	return ""
}

// drift explains what changed outside, if the address covers it.
func (e explainer) drift(d planner.Change) bool {
	if !config.Covers(e.at.Target, d.Address.Target) || !e.covers(d.Address) {
		return false
	}
	e.Line(e.Bold(ui.Clean(d.Address.String())), " was changed outside of kubewright since the last apply")
	if d.Action == planner.Delete {
		e.Line("    it is gone")
	}
	for _, a := range d.Attributes {
		e.Line("    ", ui.Clean(a.Path), ": ", attributeText(a, d.Action))
	}
	e.Line()
	return true
}

// notInPlan returns the error for an address at which the plan has nothing, with the nearest ones.
func notInPlan(plan *planner.Plan, at state.Address) error {
	text := "the plan does nothing at " + ui.Clean(at.String()) + ": it is as it should be, or it is left alone"
	if !slices.ContainsFunc(plan.Resources, func(r planner.ResourceChange) bool { return config.Covers(at.Target, r.Target) }) {
		text = "the plan knows no " + ui.Clean(at.Target.String()) + ": it is in neither configuration nor state, or it is left out"
	}
	if near := nearby(plan, at); len(near) > 0 {
		text += ". Of what the plan changes there are:\n\n  " + strings.Join(near[:min(len(near), maxNear)], "\n  ")
		if left := len(near) - maxNear; left > 0 {
			text += "\n  and " + strconv.Itoa(left) + " more"
		}
	}
	return fmt.Errorf("%s", text)
}

// nearby returns the addresses of a plan that are nearest to one that it does not have: other
// fields of the same item, other items of the same phase, other phases, or other resources.
func nearby(plan *planner.Plan, at state.Address) []string {
	var fields, items, phases, resources []string
	add := func(list *[]string, a fmt.Stringer) {
		if text := ui.Clean(a.String()); !slices.Contains(*list, text) {
			*list = append(*list, text)
		}
	}
	for _, c := range slices.Concat(plan.Changes, plan.Drift) {
		e := explainer{at: state.Address{Phase: at.Phase, Waypoint: at.Waypoint}}
		if !config.Covers(at.Target, c.Address.Target) || !e.covers(c.Address) {
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
	for _, r := range outline.Reviewable(plan) {
		add(&resources, r.Target)
	}
	for _, list := range [][]string{fields, items, phases, resources} {
		if len(list) > 0 {
			return list
		}
	}
	return nil
}

// maxNear is the number of addresses that are suggested.
const maxNear = 12

package view

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/planner/planfile"
	"github.com/kubewright/kubewright/state"
)

// planFormats are the forms of a plan for readers outside of the terminal, by
// name. All of them are made of the same value, so that they cannot disagree.
var planFormats = map[string]func(io.Writer, *planner.Plan, Options) error{
	"text": textPage, "json": PlanJSON, "markdown": markdown, "html": htmlPage, "junit": junit, "github": annotations,
}

// textPage is the plan as on the terminal, below its warnings.
func textPage(w io.Writer, plan *planner.Plan, o Options) error {
	if err := Diagnostics(w, warningsOf(plan), o, nil); err != nil {
		return err
	}
	return Plan(w, plan, o)
}

// PlanFormats returns the names of the forms of a plan.
func PlanFormats() []string { return slices.Sorted(maps.Keys(planFormats)) }

// PlanFormat says what is wrong with the name of a form.
func PlanFormat(format string) error {
	if planFormats[format] == nil {
		return fmt.Errorf("unknown format %q of a plan; use %s", format, list(PlanFormats()))
	}
	return nil
}

// PlanAs prints a plan in one of its forms: text as on the terminal, json as one
// document, markdown for a pull request, html as one page, junit as a report of
// tests, github as annotations of a workflow.
func PlanAs(w io.Writer, plan *planner.Plan, format string, o Options) error {
	if err := PlanFormat(format); err != nil {
		return err
	}
	return planFormats[format](w, plan, o)
}

// review is a plan as the readers outside of the terminal take it: what is done
// to which resource, phase by phase and item by item, the worst first.
type review struct {
	*planner.Plan
	digest string
	// command carries out this plan and no other; empty where there is nothing to do,
	// and where a policy refuses the plan whoever approves it.
	command   string
	resources []reviewed
	// drift is what changed outside and the plan leaves so.
	drift []reviewedItem
	// outputs are the outputs that change.
	outputs  []string
	timeline executor.Timeline
	// print lays out what is shown of items: without colour, never wrapped.
	print changePrinter
	// all finds the steps and changes of a target.
	all *planIndex
}

// reviewed is a resource with what is done to it.
type reviewed struct {
	planner.ResourceChange
	// verdict is what becomes of it, in words.
	verdict string
	reason  string
	impacts []string
	phases  []reviewedPhase
}

// reviewedPhase is a step of a resource, or changes without one.
type reviewedPhase struct {
	phase
	action planner.Action
	// says is what the step means, or does.
	says  string
	items []reviewedItem
	span  executor.Span
}

// reviewedItem is one changed thing.
type reviewedItem struct {
	planner.Change
	step  *planner.Step
	print changePrinter
	// outside reports whether somebody else made the change.
	outside bool
}

// lines show how it changes. They are laid out for who asks: not every form
// shows them, and a plan may have a hundred thousand.
func (it reviewedItem) lines() []laidLine {
	shown := items([]planner.Change{it.Change}, it.step)[0]
	if it.outside {
		shown.Change = fromOutside(shown.Change)
	}
	return it.print.layout([]entry{it.print.item(shown, true)}, 0)
}

// endless is a width that nothing is wrapped at.
const endless = 1 << 20

// newOutline returns a review without what changes: its steps, and how long they take.
func newOutline(plan *planner.Plan, o Options) *review {
	r := &review{
		Plan: plan, digest: planfile.Digest(plan), print: changePrinter{newPage(Options{Width: endless})},
		outputs:  changedOutputs(o.Recorded.Outputs, plan.Outputs),
		timeline: executor.Forecast(plan, o.Recorded.Durations, o.Parallelism),
	}
	if !r.nothing() && !refusedAsItIs(plan) {
		r.command = commandFor(plan, o) + " -approve=" + r.short()
	}
	return r
}

// short returns the digest as it is shown.
func (r *review) short() string { return r.digest[:planfile.ShortDigest] }

// nothing reports whether the plan has nothing to do, on any host or with the outputs.
func (r *review) nothing() bool { return r.Empty() && len(r.outputs) == 0 }

func newReview(plan *planner.Plan, o Options) *review {
	r := newOutline(plan, o)
	r.all = indexed(plan)
	spans := map[state.Address]executor.Span{}
	for _, s := range r.timeline.Steps {
		spans[s.Step] = s
	}
	for _, c := range reviewable(plan) {
		r.resources = append(r.resources, r.resource(c, spans))
	}
	slices.SortStableFunc(r.resources, func(a, b reviewed) int { return cmp.Compare(a.rank(), b.rank()) })
	left, _ := splitDrift(plan, plan.RefreshOnly)
	for _, c := range left {
		r.drift = append(r.drift, reviewedItem{Change: c, print: r.print, outside: true})
	}
	return r
}

// reviewable returns the resources that change, are renamed or imported, or have a step.
func reviewable(plan *planner.Plan) []planner.ResourceChange {
	steps := map[state.Target]bool{}
	for _, s := range plan.Steps {
		steps[s.Target] = true
	}
	known := map[state.Target]bool{}
	var out []planner.ResourceChange
	for _, c := range plan.Resources {
		if c.Action != planner.NoOp || !c.MovedFrom.IsZero() || c.ImportedFrom != "" || steps[c.Target] {
			known[c.Target] = true
			out = append(out, c)
		}
	}
	return append(out, strangers(plan, known)...)
}

func (r *review) resource(c planner.ResourceChange, spans map[state.Address]executor.Span) reviewed {
	phases := r.all.phasesOf(c.Target)
	reasons := append(notEmpty(besideVerdict(c, r.all.reasonOf(c)), cameFrom(c)), there(phases, c.There, false)...)
	out := reviewed{ResourceChange: c, verdict: verdict(c), impacts: r.all.impactsOf(c.Target), reason: strings.Join(reasons, "; ")}
	for _, ph := range phases {
		p := reviewedPhase{phase: ph, action: phaseAction(ph), span: spans[ph.id]}
		if ph.step != nil {
			p.says = describe(ph)
		}
		for _, ch := range ph.changes {
			p.items = append(p.items, r.item(ch, ph.step))
		}
		out.phases = append(out.phases, p)
	}
	return out
}

// phaseAction returns a step's, or what happens to all of its items.
func phaseAction(ph phase) planner.Action {
	if ph.step != nil {
		return cmp.Or(ph.step.Action, planner.NoOp)
	}
	for _, c := range ph.changes {
		if c.Action != ph.changes[0].Action {
			return planner.Update
		}
	}
	return ph.changes[0].Action
}

func (r *review) item(c planner.Change, step *planner.Step) reviewedItem {
	return reviewedItem{Change: c, step: step, print: r.print}
}

// verdict returns what becomes of a resource.
func verdict(c planner.ResourceChange) string {
	switch {
	case c.Action == planner.Create:
		return "will be created"
	case c.Action == planner.Update:
		return "will be updated in-place"
	case c.Action == planner.Delete:
		return "will be destroyed"
	case c.Action == planner.Replace && c.Reason == planner.ReasonRequested:
		return "will be replaced, as requested"
	case c.Action == planner.Replace:
		return "must be replaced"
	case c.Action == planner.Forget:
		return "will be removed from the state but will not be destroyed"
	case c.ImportedFrom != "":
		return "will be imported"
	case !c.MovedFrom.IsZero():
		return "has moved from " + Clean(c.MovedFrom.String())
	}
	return "will not change"
}

// cameFrom says what the verdict does not: by which name a resource was known before, or
// where what is imported is found.
func cameFrom(c planner.ResourceChange) string {
	switch {
	case c.ImportedFrom != "":
		return "imported from " + Clean(c.ImportedFrom)
	case !c.MovedFrom.IsZero() && c.Action != planner.NoOp:
		return "moved from " + Clean(c.MovedFrom.String())
	}
	return ""
}

// rank orders resources by how much a reviewer has to care: what is lost, what
// is interrupted, what changes, what is new, and what is only called otherwise.
func (r reviewed) rank() int {
	switch {
	case r.Action == planner.Delete || r.Action == planner.Replace:
		return 0
	case r.Action == planner.Update && len(r.impacts) > 0:
		return 1
	case r.Action == planner.Update:
		return 2
	case r.Action == planner.Create:
		return 3
	}
	return 4
}

// headline returns the first sentence of every form.
func (r *review) headline() string {
	switch {
	case r.RefreshOnly && len(r.Drift) > 0:
		return "Refresh only: " + plural(len(r.Drift), "item") + " changed outside of kubewright. No host is changed."
	case r.RefreshOnly && len(r.Moved) > 0:
		return "Refresh only: " + plural(len(r.Moved), "new name") + " in the state. No host is changed."
	case !r.Empty():
		return "Plan: " + planned(r.Plan)
	case len(r.outputs) > 0:
		return "No changes, except for outputs."
	}
	return "No changes."
}

// notes returns the sentences that stand above the details, with a word in front of each.
func (r *review) notes() [][2]string {
	var out [][2]string
	for _, f := range r.Policies {
		out = append(out, [2]string{"Policy", policyText(f)})
	}
	for _, s := range r.Upgrades {
		out = append(out, [2]string{"Upgrade", oneLine(s)})
	}
	for _, s := range r.Rotations {
		out = append(out, [2]string{"Rotation", Clean(s)})
	}
	for _, s := range r.Quorum {
		out = append(out, [2]string{"etcd", Clean(s)})
	}
	for _, s := range certificateEnds(r.Plan) {
		out = append(out, [2]string{"Certificates", s})
	}
	if text := takes(r.timeline); text != "" {
		out = append(out, [2]string{"Time", text})
	}
	if r.Restricted() {
		out = append(out, [2]string{"Part", "The plan speaks of a part only: " + list(restrictions(r.Plan)) + leavesOut(r.Plan) + "."})
	}
	if text := cutShort(r.Plan); text != "" {
		out = append(out, [2]string{"Cut short", text})
	}
	if len(r.outputs) > 0 {
		out = append(out, [2]string{"Outputs", "These change: " + list(cleaned(r.outputs)) + "."})
	}
	return out
}

// oneLine returns a sentence and the list behind it, which has a line for each entry.
func oneLine(s string) string {
	head, entries, listed := strings.Cut(s, "\n")
	if !listed {
		return Clean(s)
	}
	var out []string
	for entry := range strings.Lines(entries) {
		out = append(out, Clean(strings.TrimSpace(entry)))
	}
	return Clean(head) + " " + strings.Join(out, "; ")
}

// leavesOut names what -exclude leaves out besides what it means.
func leavesOut(plan *planner.Plan) string {
	if also := consequence(plan); also != "" {
		return ", which leaves out what is meant" + also
	}
	return ""
}

// restrictions returns the flags by which a plan refers to a part only.
func restrictions(plan *planner.Plan) []string {
	var out []string
	for _, f := range []struct {
		flag   string
		values []string
	}{{"-target=", plan.Targets}, {"-exclude=", plan.Excluded}, {"-skip-phase=", plan.SkippedPhases}} {
		for _, v := range f.values {
			out = append(out, f.flag+Clean(v))
		}
	}
	return out
}

// mended returns the drift that the plan puts right, in words; empty for none.
func (r *review) mended() string {
	_, n := splitDrift(r.Plan, r.RefreshOnly)
	if n == 0 {
		return ""
	}
	return plural(n, "item") + " changed by somebody else since the last apply: the plan puts that right"
}

// word returns what happens to a resource in the word of the plan's summary.
func (r reviewed) word() string {
	switch {
	case r.Action == planner.Delete:
		return "destroy"
	case r.Action != planner.NoOp && r.Action != "":
		return string(r.Action)
	case r.ImportedFrom != "":
		return "import"
	case !r.MovedFrom.IsZero():
		return "move"
	}
	return string(planner.NoOp)
}

// counts says how many resources are created, changed and so on: 2 create, 1 destroy.
func counts(rs []reviewed) string {
	n := map[string]int{}
	for _, r := range rs {
		n[r.word()]++
	}
	var parts []string
	for _, w := range []string{"destroy", "replace", "update", "create", "forget", "import", "move", "no-op"} {
		if n[w] > 0 {
			parts = append(parts, strconv.Itoa(n[w])+" "+w)
		}
	}
	return strings.Join(parts, ", ")
}

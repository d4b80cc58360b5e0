package outline

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/diffview"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/schedule"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/planner/planfile"
	"github.com/kubewright/kubewright/state"
)

// Review is a plan as reviewers outside of the terminal read it: each resource phase by phase and
// item by item, the most severe first.
type Review struct {
	*planner.Plan
	digest string
	// Command applies this plan and no other; empty if there is nothing to do, or if a policy
	// refuses the plan whatever is approved.
	Command   string
	Resources []ReviewedResource
	// Drift was changed outside, and the plan leaves it.
	Drift []ReviewedItem
	// outputs are the names of the outputs that change.
	outputs  []string
	Timeline executor.Timeline
	// print lays out items without colour and without wrapping.
	print diffview.Printer
	// all is the index of the plan.
	all *Index
}

// ReviewedResource is a resource with everything that the plan does to it.
type ReviewedResource struct {
	planner.ResourceChange
	// Verdict is what happens to it, in words.
	Verdict string
	Reason  string
	Impacts []string
	Phases  []ReviewedPhase
}

// ReviewedPhase is a step of a resource, or changes without one.
type ReviewedPhase struct {
	Phase
	Action planner.Action
	// Effect is the effect of the step.
	Effect string
	Items  []ReviewedItem
	Span   executor.Span
}

// ReviewedItem is one changed item.
type ReviewedItem struct {
	planner.Change
	step  *planner.Step
	print diffview.Printer
	// outside reports whether the change was made outside of kubewright.
	outside bool
}

// Lines returns the item laid out. They are not kept: not every form shows them, and a plan may
// have a hundred thousand items.
func (it ReviewedItem) Lines() []diffview.LaidLine {
	shown := diffview.Items([]planner.Change{it.Change}, it.step)[0]
	if it.outside {
		shown.Change = WithoutOrigins(shown.Change)
	}
	return it.print.Layout([]diffview.Entry{it.print.Item(shown, true)}, 0)
}

// NewHead returns a review without resources: its steps and how long they take.
func NewHead(plan *planner.Plan, o ui.Options) *Review {
	r := &Review{
		Plan: plan, digest: planfile.Digest(plan), print: diffview.NewPrinter(ui.Options{Width: ui.Endless}),
		outputs:  ChangedOutputs(o.Recorded.Outputs, plan.Outputs),
		Timeline: executor.Forecast(plan, o.Recorded.Durations, o.Parallelism),
	}
	if !r.NothingToDo() && !RefusedByPolicy(plan) && len(plan.Unpermitted) == 0 {
		r.Command = Command(plan, o) + " -approve=" + r.Short()
	}
	return r
}

// Short returns the digest in its short form.
func (r *Review) Short() string { return r.digest[:planfile.ShortDigest] }

// NothingToDo reports whether the plan changes neither a host nor an output.
func (r *Review) NothingToDo() bool { return r.Empty() && len(r.outputs) == 0 }

// NewReview returns a plan with all of its resources.
func NewReview(plan *planner.Plan, o ui.Options) *Review {
	r := NewHead(plan, o)
	r.all = NewIndex(plan)
	spans := map[state.Address]executor.Span{}
	for _, s := range r.Timeline.Steps {
		spans[s.Step] = s
	}
	for _, c := range Reviewable(plan) {
		r.Resources = append(r.Resources, r.resource(c, spans))
	}
	slices.SortStableFunc(r.Resources, func(a, b ReviewedResource) int { return cmp.Compare(a.Rank(), b.Rank()) })
	left, _ := SplitDrift(plan, plan.RefreshOnly)
	for _, c := range left {
		r.Drift = append(r.Drift, ReviewedItem{Change: c, print: r.print, outside: true})
	}
	return r
}

// Reviewable returns the resources that change, are renamed or imported, or have a step.
func Reviewable(plan *planner.Plan) []planner.ResourceChange {
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
	return append(out, Unlisted(plan, known)...)
}

func (r *Review) resource(c planner.ResourceChange, spans map[state.Address]executor.Span) ReviewedResource {
	phases := r.all.PhasesOf(c.Target)
	reasons := append(ui.NonEmpty(ReasonBesideVerdict(c, r.all.ReasonOf(c)), formerName(c)), PresentItems(phases, c.There, false)...)
	out := ReviewedResource{ResourceChange: c, Verdict: Verdict(c), Impacts: r.all.ImpactsOf(c.Target), Reason: strings.Join(reasons, "; ")}
	for _, ph := range phases {
		p := ReviewedPhase{Phase: ph, Action: phaseAction(ph), Span: spans[ph.ID]}
		if ph.Step != nil {
			p.Effect = Effect(ph)
		}
		for _, ch := range ph.Changes {
			p.Items = append(p.Items, r.item(ch, ph.Step))
		}
		out.Phases = append(out.Phases, p)
	}
	return out
}

// phaseAction returns the action of a step, or the common one of its items.
func phaseAction(ph Phase) planner.Action {
	if ph.Step != nil {
		return cmp.Or(ph.Step.Action, planner.NoOp)
	}
	for _, c := range ph.Changes {
		if c.Action != ph.Changes[0].Action {
			return planner.Update
		}
	}
	return ph.Changes[0].Action
}

func (r *Review) item(c planner.Change, step *planner.Step) ReviewedItem {
	return ReviewedItem{Change: c, step: step, print: r.print}
}

// Verdict returns in words what happens to a resource.
func Verdict(c planner.ResourceChange) string {
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
		return "has moved from " + ui.Clean(c.MovedFrom.String())
	}
	return "will not change"
}

// formerName returns what the verdict omits: the previous name of a resource, or where it is
// imported from.
func formerName(c planner.ResourceChange) string {
	switch {
	case c.ImportedFrom != "":
		return "imported from " + ui.Clean(c.ImportedFrom)
	case !c.MovedFrom.IsZero() && c.Action != planner.NoOp:
		return "moved from " + ui.Clean(c.MovedFrom.String())
	}
	return ""
}

// Rank orders resources by severity: destroyed, interrupted, changed, new, and only renamed or
// imported.
func (r ReviewedResource) Rank() int {
	switch {
	case r.Action == planner.Delete || r.Action == planner.Replace:
		return 0
	case r.Action == planner.Update && len(r.Impacts) > 0:
		return 1
	case r.Action == planner.Update:
		return 2
	case r.Action == planner.Create:
		return 3
	}
	return 4
}

// Headline returns the first sentence of every form.
func (r *Review) Headline() string {
	switch {
	case r.RefreshOnly && len(r.Plan.Drift) > 0:
		return "Refresh only: " + ui.Plural(len(r.Plan.Drift), "item") + " changed outside of kubewright. No host is changed."
	case r.RefreshOnly && len(r.Moved) > 0:
		return "Refresh only: " + ui.Plural(len(r.Moved), "new name") + " in the state. No host is changed."
	case !r.Empty():
		return "Plan: " + Counts(r.Plan)
	case len(r.outputs) > 0:
		return "No changes, except for outputs."
	}
	return "No changes."
}

// Notes returns the sentences above the details, each with a word for its subject.
func (r *Review) Notes() [][2]string {
	var out [][2]string
	for _, f := range r.Policies {
		out = append(out, [2]string{"Policy", PolicyNote(f)})
	}
	for _, s := range r.Upgrades {
		out = append(out, [2]string{"Upgrade", oneLine(s)})
	}
	for _, s := range r.Rollouts {
		out = append(out, [2]string{"Rollout", oneLine(s)})
	}
	for _, s := range r.Rotations {
		out = append(out, [2]string{"Rotation", ui.Clean(s)})
	}
	for _, s := range r.Quorum {
		out = append(out, [2]string{"etcd", ui.Clean(s)})
	}
	for _, s := range ExpiryNotes(r.Plan) {
		out = append(out, [2]string{"Certificates", s})
	}
	if text := schedule.EstimateText(r.Timeline); text != "" {
		out = append(out, [2]string{"Time", text})
	}
	if r.Restricted() {
		out = append(out, [2]string{"Part", "The plan covers only a part of the configuration: " + ui.CommaList(restrictions(r.Plan)) + excludedNote(r.Plan) + "."})
	}
	if text := InterruptedNote(r.Plan); text != "" {
		out = append(out, [2]string{"Interrupted", text})
	}
	if len(r.outputs) > 0 {
		out = append(out, [2]string{"Outputs", "These change: " + ui.CommaList(ui.Cleaned(r.outputs)) + "."})
	}
	return out
}

// oneLine joins a sentence with the list below it, which has a line for each entry.
func oneLine(s string) string {
	head, entries, listed := strings.Cut(s, "\n")
	if !listed {
		return ui.Clean(s)
	}
	var out []string
	for entry := range strings.Lines(entries) {
		out = append(out, ui.Clean(strings.TrimSpace(entry)))
	}
	return ui.Clean(head) + " " + strings.Join(out, "; ")
}

// excludedNote returns what -exclude leaves out beyond what it names.
func excludedNote(plan *planner.Plan) string {
	if also := ExcludedDependents(plan); also != "" {
		return ", which leaves out the excluded resources" + also
	}
	return ""
}

// restrictions returns the flags that restrict the plan to a part.
func restrictions(plan *planner.Plan) []string {
	var out []string
	for _, f := range []struct {
		flag   string
		values []string
	}{{"-target=", plan.Targets}, {"-exclude=", plan.Excluded}, {"-skip-phase=", plan.SkippedPhases}} {
		for _, v := range f.values {
			out = append(out, f.flag+ui.Clean(v))
		}
	}
	return out
}

// CorrectedDrift returns in words the drift that the plan corrects; empty for none.
func (r *Review) CorrectedDrift() string {
	_, n := SplitDrift(r.Plan, r.RefreshOnly)
	if n == 0 {
		return ""
	}
	return ui.Plural(n, "item") + " changed outside of kubewright since the last apply: the plan corrects that"
}

// Word returns what happens to a resource in the words of the plan's summary.
func (r ReviewedResource) Word() string {
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

// ActionCounts returns the number of resources per action: 2 create, 1 destroy.
func ActionCounts(rs []ReviewedResource) string {
	n := map[string]int{}
	for _, r := range rs {
		n[r.Word()]++
	}
	var parts []string
	for _, w := range []string{"destroy", "replace", "update", "create", "forget", "import", "move", "no-op"} {
		if n[w] > 0 {
			parts = append(parts, strconv.Itoa(n[w])+" "+w)
		}
	}
	return strings.Join(parts, ", ")
}

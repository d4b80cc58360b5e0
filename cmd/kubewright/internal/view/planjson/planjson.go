package planjson

import (
	"io"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/outline"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/planner/planfile"
	"github.com/kubewright/kubewright/state"
)

// Document is a plan for programs. resource_changes has the shape that readers
// of Terraform's plans know; items and steps are kubewright's own. The schema is
// docs/plan.schema.json.
type Document struct {
	FormatVersion   string                      `json:"format_version"`
	ToolVersion     string                      `json:"kubewright_version"`
	Lineage         string                      `json:"lineage,omitempty"`
	Serial          int64                       `json:"serial"`
	Digest          string                      `json:"digest"`
	Commit          string                      `json:"commit,omitempty"`
	Destroy         bool                        `json:"destroy,omitempty"`
	Complete        bool                        `json:"complete"`
	Applyable       bool                        `json:"applyable"`
	Errored         bool                        `json:"errored"`
	Summary         summaryJSON                 `json:"summary"`
	ResourceChanges []resourceJSON              `json:"resource_changes"`
	ResourceDrift   []driftJSON                 `json:"resource_drift"`
	OutputChanges   map[string]outputChangeJSON `json:"output_changes"`
	Forgotten       []state.Address             `json:"forgotten,omitempty"`
	Targets         []string                    `json:"targets,omitempty"`
	SkippedPhases   []string                    `json:"skipped_phases,omitempty"`
	Excluded        []string                    `json:"excluded,omitempty"`
	LeftOut         []string                    `json:"left_out,omitempty"`
	PlannedValues   plannedJSON                 `json:"planned_values"`
	Steps           []Step                      `json:"steps"`
	Estimate        *estimateJSON               `json:"estimate,omitempty"`
	Limits          map[string]int              `json:"limits,omitempty"`
	Quorum          []string                    `json:"quorum,omitempty"`
	Upgrades        []string                    `json:"upgrades,omitempty"`
	Rollouts        []string                    `json:"rollouts,omitempty"`
	Rotations       []string                    `json:"rotations,omitempty"`
	Certificates    []planner.CertificateEnd    `json:"certificates,omitempty"`
	Withheld        []state.Unobserved          `json:"withheld,omitempty"`
	WithheldSteps   []WithheldStep              `json:"withheld_steps,omitempty"`
	Unpermitted     []state.Target              `json:"unpermitted,omitempty"`
	Interrupted     []string                    `json:"cut_short,omitempty"`
	Policies        []policyJSON                `json:"policies,omitempty"`
	Diagnostics     []diag.JSON                 `json:"diagnostics,omitempty"`
}

// policyJSON is a policy's finding. One that is not overridden refuses an apply.
type policyJSON struct {
	Policy     string `json:"policy"`
	Rule       string `json:"rule"`
	Message    string `json:"message"`
	Overridden bool   `json:"overridden"`
	Origin     string `json:"origin,omitempty"`
}

type summaryJSON struct {
	Add    int `json:"add"`
	Change int `json:"change"`
	Remove int `json:"remove"`
}

type plannedJSON struct {
	Outputs    map[string]Output `json:"outputs,omitempty"`
	RootModule moduleJSON        `json:"root_module"`
}

// moduleJSON has everything that exists after an apply. Policies count it.
type moduleJSON struct {
	Resources []plannedResourceJSON `json:"resources"`
}

type plannedResourceJSON struct {
	identityJSON
	SchemaVersion int               `json:"schema_version"`
	Values        map[string]string `json:"values"`
	Sensitive     struct{}          `json:"sensitive_values"`
}

// identityJSON identifies a resource.
type identityJSON struct {
	Address  string  `json:"address"`
	Mode     string  `json:"mode"`
	Type     string  `json:"type"`
	Name     string  `json:"name"`
	Index    *string `json:"index,omitempty"`
	Provider string  `json:"provider_name"`
}

// providerName is in the place of a provider's address in Terraform's plans, which some readers
// require.
const providerName = "github.com/kubewright/kubewright"

func identityOf(t state.Target) identityJSON {
	return identityJSON{Address: t.String(), Mode: "managed", Type: t.Type, Name: t.Name, Index: index(t), Provider: providerName}
}

// Step is a step with how long such a step took the last time, in seconds.
type Step struct {
	planner.Step
	Estimate *float64 `json:"estimate,omitempty"`
}

// estimateJSON is how long an apply would take, in seconds, based on earlier ones.
type estimateJSON struct {
	Seconds float64 `json:"seconds"`
	// CriticalPath is the longest chain of steps, in order.
	CriticalPath []state.Address `json:"critical_path"`
	// UnknownSteps counts the steps without an estimate, which add nothing to Seconds.
	UnknownSteps int `json:"unknown_steps"`
}

type Output struct {
	Value     any  `json:"value,omitempty"`
	Sensitive bool `json:"sensitive"`
	Unknown   bool `json:"unknown,omitempty"`
}

type resourceJSON struct {
	identityJSON
	// PreviousAddress is the address before a move.
	PreviousAddress string `json:"previous_address,omitempty"`
	Note            string `json:"note,omitempty"`
	// ActionReason is Terraform's word, Reason a sentence.
	ActionReason string `json:"action_reason,omitempty"`
	Reason       string `json:"reason,omitempty"`
	// Impact is what the steps mean to users of the cluster.
	Impact []string   `json:"impact,omitempty"`
	Change changeJSON `json:"change"`
	Items  []Item     `json:"items,omitempty"`
	// There are the items that the host of a new node already has.
	There []string `json:"there,omitempty"`
	// Loses is what ends with a destroyed cluster.
	Loses *planner.Loss `json:"loses,omitempty"`
}

// driftJSON is an item that changed outside, in the shape of a resource as well: before is what
// the last apply left, after the present value.
type driftJSON struct {
	Item
	Mode     string     `json:"mode"`
	Type     string     `json:"type"`
	Name     string     `json:"name"`
	Index    *string    `json:"index,omitempty"`
	Provider string     `json:"provider_name"`
	Change   changeJSON `json:"change"`
}

// changeJSON has a cluster's or node's facts and its changes as trees: phase and item, then the
// attributes' paths. Sensitive values are null and marked.
type changeJSON struct {
	Actions         []string `json:"actions"`
	Before          Tree     `json:"before"`
	After           Tree     `json:"after"`
	AfterUnknown    Tree     `json:"after_unknown"`
	BeforeSensitive Tree     `json:"before_sensitive"`
	AfterSensitive  Tree     `json:"after_sensitive"`
	// ReplacePaths are the attributes that cannot change without a replacement.
	ReplacePaths [][]string `json:"replace_paths,omitempty"`
	// Importing is where the resource was found, if kubewright did not make it.
	Importing *importingJSON `json:"importing,omitempty"`
}

type importingJSON struct {
	ID string `json:"id"`
}

// outputChangeJSON is changeJSON of an output, which is one value.
type outputChangeJSON struct {
	Actions         []string `json:"actions"`
	Before          any      `json:"before"`
	After           any      `json:"after"`
	AfterUnknown    bool     `json:"after_unknown"`
	BeforeSensitive bool     `json:"before_sensitive"`
	AfterSensitive  bool     `json:"after_sensitive"`
}

type Item struct {
	Address    string          `json:"address"`
	Kind       state.Kind      `json:"kind"`
	Actions    []string        `json:"actions"`
	Reason     string          `json:"reason,omitempty"`
	Cost       planner.Cost    `json:"cost,omitempty"`
	Attributes []attributeJSON `json:"attributes,omitempty"`
}

type attributeJSON struct {
	Path         string `json:"path"`
	Before       any    `json:"before"`
	After        any    `json:"after"`
	AfterUnknown bool   `json:"after_unknown,omitempty"`
	Sensitive    bool   `json:"sensitive,omitempty"`
	Origin       string `json:"origin,omitempty"`
	// Origins are the origins of its parts, if several lines of the configuration set them.
	Origins map[string]string `json:"origins,omitempty"`
	// Control is what of a benchmark it serves; Controls are those of its parts.
	Control  string            `json:"control,omitempty"`
	Controls map[string]string `json:"controls,omitempty"`
	// Outside reports whether Before was set outside of kubewright.
	Outside bool `json:"outside,omitempty"`
}

// Write prints a plan for programs, on one line.
func Write(w io.Writer, plan *planner.Plan, o ui.Options) error {
	return ui.WriteJSONLine(w, New(plan, o))
}

// New returns a plan as a document.
func New(plan *planner.Plan, o ui.Options) Document {
	add, change, remove := plan.Counts()
	timeline := executor.Forecast(plan, o.Recorded.Durations, o.Parallelism)
	out := Document{
		FormatVersion: ui.JSONVersion, ToolVersion: plan.ToolVersion, Digest: planfile.Digest(plan), Commit: plan.Commit, Lineage: plan.Lineage, Serial: plan.Serial, Destroy: plan.Destroy,
		Forgotten: plan.Forgotten, Targets: plan.Targets, SkippedPhases: plan.SkippedPhases, Excluded: plan.Excluded, LeftOut: plan.LeftOut,
		Complete: !plan.Withholds() && len(plan.Interrupted) == 0 && !plan.Restricted(), Applyable: applyable(plan, o),
		Summary:         summaryJSON{add, change, remove},
		ResourceChanges: []resourceJSON{}, ResourceDrift: []driftJSON{}, OutputChanges: outputChangesJSON(o.Recorded.Outputs, plan.Outputs),
		Steps: newSteps(plan, timeline), Estimate: newEstimate(timeline),
		Limits: plan.Limits, Quorum: plan.Quorum, Upgrades: plan.Upgrades, Rollouts: plan.Rollouts, Rotations: plan.Rotations, Certificates: plan.Certificates, Withheld: plan.Withheld, WithheldSteps: withheldSteps(plan), Unpermitted: plan.Unpermitted, Interrupted: plan.Interrupted, Diagnostics: plan.Diagnostics, PlannedValues: plannedJSON{Outputs(plan.Outputs), moduleJSON{[]plannedResourceJSON{}}},
	}
	all := outline.NewIndex(plan)
	known := map[state.Target]bool{}
	for _, r := range plan.Resources {
		known[r.Target] = true
	}
	for _, r := range append(slices.Clone(plan.Resources), outline.Unlisted(plan, known)...) {
		out.ResourceChanges = append(out.ResourceChanges, newResource(all, r))
		if r.Action != planner.Delete && r.Action != planner.Forget {
			there := &out.PlannedValues.RootModule.Resources
			*there = append(*there, plannedResourceJSON{identityJSON: identityOf(r.Target), Values: orEmpty(r.After)})
		}
	}
	for _, f := range plan.Policies {
		out.Policies = append(out.Policies, policyJSON{f.Policy, f.Rule, f.Message, f.Overridden, f.Source.String()})
	}
	for _, d := range plan.Drift {
		out.ResourceDrift = append(out.ResourceDrift, newDrift(d))
	}
	return out
}

// applyable reports whether there is something to do and no policy refuses the plan whatever is
// approved.
func applyable(plan *planner.Plan, o ui.Options) bool {
	return !outline.RefusedByPolicy(plan) && len(plan.Unpermitted) == 0 && (!plan.Empty() || len(outline.ChangedOutputs(o.Recorded.Outputs, plan.Outputs)) > 0)
}

func newSteps(plan *planner.Plan, t executor.Timeline) []Step {
	out := make([]Step, len(plan.Steps))
	for i, s := range plan.Steps {
		out[i] = Step{Step: s}
		if i < len(t.Steps) && t.Steps[i].Known {
			out[i].Estimate = &t.Steps[i].Seconds
		}
	}
	return out
}

func newEstimate(t executor.Timeline) *estimateJSON {
	if t.Unknown == len(t.Steps) {
		return nil
	}
	e := &estimateJSON{Seconds: t.Seconds, UnknownSteps: t.Unknown, CriticalPath: []state.Address{}}
	for _, s := range t.Critical {
		e.CriticalPath = append(e.CriticalPath, s.Step)
	}
	return e
}

func newResource(plan *outline.Index, r planner.ResourceChange) resourceJSON {
	out := resourceJSON{
		identityJSON: identityOf(r.Target), Note: r.Note, Reason: plan.ReasonOf(r), ActionReason: actionReason(plan.Plan, r),
		Impact: plan.ImpactsOf(r.Target), Change: newChange(r.Action), Loses: r.Loses,
	}
	if r.ImportedFrom != "" {
		out.Change.Importing = &importingJSON{r.ImportedFrom}
	}
	if name, _, _ := strings.Cut(r.Reason, " "); r.Action == planner.Replace && r.Before[name] != r.After[name] { // role worker -> control-plane
		out.Change.ReplacePaths = [][]string{{name}}
	}
	if !r.MovedFrom.IsZero() {
		out.PreviousAddress = r.MovedFrom.String()
	}
	for name, value := range r.Before {
		out.Change.Before.Put([]string{name}, value, true)
	}
	for name, value := range r.After {
		out.Change.After.Put([]string{name}, value, true)
	}
	for _, a := range r.There {
		out.There = append(out.There, a.String())
	}
	for _, i := range plan.ChangesOf[r.Target] {
		c := plan.Changes[i]
		out.Items = append(out.Items, NewItem(c))
		out.Change.put([]string{ui.PhaseName(c.Address), c.Address.Item}, c)
	}
	return out
}

func newDrift(d planner.Change) driftJSON {
	t := d.Address.Target
	out := driftJSON{Item: NewItem(outline.WithoutOrigins(d)), Mode: "managed", Type: t.Type, Name: t.Name, Index: index(t), Provider: providerName, Change: newChange(d.Action)}
	out.Change.put(nil, d)
	return out
}

func index(t state.Target) *string {
	if !t.Keyed {
		return nil
	}
	return &t.Key
}

// actionReason returns Terraform's word for a reason, if there is one.
func actionReason(plan *planner.Plan, r planner.ResourceChange) string {
	others := func(o planner.ResourceChange) bool {
		return o.Target.Type == r.Target.Type && o.Target.Name == r.Target.Name && o.Action != planner.Delete && o.Action != planner.Forget
	}
	switch {
	case plan.Destroy:
		return ""
	case r.Action == planner.Replace && r.Reason == planner.ReasonRequested:
		return "replace_by_request"
	case r.Action == planner.Replace:
		return "replace_because_cannot_update"
	case r.Action == planner.Delete && r.Reason == planner.ReasonUnconfigured && r.Target.Type == state.TypeNode && slices.ContainsFunc(plan.Resources, others):
		return "delete_because_each_key"
	case r.Action == planner.Delete && r.Reason == planner.ReasonUnconfigured:
		return "delete_because_no_resource_config"
	}
	return ""
}

// orEmpty returns a map that JSON shows as an object, also for nil.
func orEmpty(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

// newChange returns a change with the trees that its action has.
func newChange(a planner.Action) changeJSON {
	c := changeJSON{Actions: actions(a)}
	if a != planner.Create {
		c.Before, c.BeforeSensitive = Tree{}, Tree{}
	}
	if a != planner.Delete && a != planner.Forget {
		c.After, c.AfterUnknown, c.AfterSensitive = Tree{}, Tree{}, Tree{}
	}
	return c
}

// put adds the attributes of an item below a path.
func (c *changeJSON) put(base []string, ch planner.Change) {
	for _, a := range ch.Attributes {
		path := append(slices.Clone(base), state.SplitPath(a.Path)...)
		c.Before.Put(path, ui.JSONValue(a.Before), !a.Before.IsNull())
		c.After.Put(path, ui.JSONValue(a.After), !a.After.IsNull() && !a.After.IsPending())
		c.AfterUnknown.Put(path, true, a.After.IsPending())
		c.BeforeSensitive.Put(path, true, a.Before.HasSensitive())
		c.AfterSensitive.Put(path, true, a.After.HasSensitive())
	}
}

// outputChangesJSON returns the outputs of state and plan with their changes.
func outputChangesJSON(prior, planned map[string]state.Value) map[string]outputChangeJSON {
	out := map[string]outputChangeJSON{}
	for name := range planned {
		out[name] = outputChange(prior[name], planned[name])
	}
	for name := range prior {
		out[name] = outputChange(prior[name], planned[name])
	}
	return out
}

func outputChange(before, after state.Value) outputChangeJSON {
	action := planner.Update
	switch {
	case before.Equal(after):
		action = planner.NoOp
	case before.IsNull():
		action = planner.Create
	case after.IsNull():
		action = planner.Delete
	}
	return outputChangeJSON{
		Actions: actions(action), Before: ui.JSONValue(before), After: ui.JSONValue(after), AfterUnknown: after.IsPending(),
		BeforeSensitive: before.HasSensitive(), AfterSensitive: after.HasSensitive(),
	}
}

// Tree is a JSON object that grows by paths.
type Tree map[string]any

// Put sets the value at a path; it does nothing for a nil tree or with set false.
func (t Tree) Put(path []string, value any, set bool) {
	if t == nil || !set {
		return
	}
	for _, k := range path[:len(path)-1] {
		next, ok := t[k].(Tree)
		if !ok {
			next = Tree{}
			t[k] = next
		}
		t = next
	}
	t[path[len(path)-1]] = value
}

// NewItem returns a changed item.
func NewItem(c planner.Change) Item {
	out := Item{Address: c.Address.String(), Kind: c.Kind, Actions: actions(c.Action), Reason: c.Reason, Cost: c.Cost}
	for _, a := range c.Attributes {
		out.Attributes = append(out.Attributes, attributeJSON{
			Path: a.Path, Before: ui.JSONValue(a.Before), After: ui.JSONValue(a.After), AfterUnknown: a.After.IsPending(),
			Sensitive: a.Before.HasSensitive() || a.After.HasSensitive(), Origin: a.Origin.String(), Origins: originsJSON(a.Origins), Control: a.Origin.Control, Controls: controlsJSON(a.Origins), Outside: a.Outside,
		})
	}
	return out
}

func originsJSON(origins map[string]state.Source) map[string]string {
	var out map[string]string
	for path, s := range origins {
		if out == nil {
			out = map[string]string{}
		}
		out[path] = s.String()
	}
	return out
}

func controlsJSON(origins map[string]state.Source) map[string]string {
	var out map[string]string
	for path, s := range origins {
		if s.Control == "" {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[path] = s.Control
	}
	return out
}

// actions returns Terraform's words for an action: two for a replacement, so that a search for
// "delete" finds it.
func actions(a planner.Action) []string {
	switch a {
	case planner.Replace:
		return []string{"delete", "create"}
	case "":
		return []string{string(planner.NoOp)}
	}
	return []string{string(a)}
}

// Outputs returns outputs; a sensitive one has no value.
func Outputs(outputs map[string]state.Value) map[string]Output {
	out := map[string]Output{}
	for name, v := range outputs {
		out[name] = Output{Value: ui.JSONValue(v), Sensitive: v.Kind() == state.KindSensitive, Unknown: v.IsPending()}
	}
	return out
}

package view

import (
	"encoding/json"
	"io"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/planfile"
	"github.com/kubewright/kubewright/state"
)

// jsonFormat is the version of the JSON forms: the second number grows with
// every new field, the first with a change that breaks readers.
const jsonFormat = "1.1"

// planJSON is a plan for programs. resource_changes has the shape that readers
// of Terraform's plans know; items and steps are kubewright's own.
type planJSON struct {
	FormatVersion   string             `json:"format_version"`
	ToolVersion     string             `json:"kubewright_version"`
	Lineage         string             `json:"lineage,omitempty"`
	Serial          int64              `json:"serial"`
	Digest          string             `json:"digest"`
	Destroy         bool               `json:"destroy,omitempty"`
	Complete        bool               `json:"complete"`
	Summary         summaryJSON        `json:"summary"`
	ResourceChanges []resourceJSON     `json:"resource_changes"`
	ResourceDrift   []itemJSON         `json:"resource_drift"`
	Forgotten       []state.Address    `json:"forgotten,omitempty"`
	Targets         []string           `json:"targets,omitempty"`
	SkippedPhases   []string           `json:"skipped_phases,omitempty"`
	PlannedValues   plannedJSON        `json:"planned_values"`
	Steps           []planner.Step     `json:"steps"`
	Limits          map[string]int     `json:"limits,omitempty"`
	Quorum          []string           `json:"quorum,omitempty"`
	Upgrades        []string           `json:"upgrades,omitempty"`
	Rotations       []string           `json:"rotations,omitempty"`
	Withheld        []state.Unobserved `json:"withheld,omitempty"`
}

type summaryJSON struct {
	Add    int `json:"add"`
	Change int `json:"change"`
	Remove int `json:"remove"`
}

type plannedJSON struct {
	Outputs map[string]outputJSON `json:"outputs,omitempty"`
}

type outputJSON struct {
	Value     any  `json:"value,omitempty"`
	Sensitive bool `json:"sensitive"`
	Unknown   bool `json:"unknown,omitempty"`
}

type resourceJSON struct {
	Address string     `json:"address"`
	Mode    string     `json:"mode"`
	Type    string     `json:"type"`
	Name    string     `json:"name"`
	Index   *string    `json:"index,omitempty"`
	Note    string     `json:"note,omitempty"`
	Reason  string     `json:"action_reason,omitempty"`
	Change  changeJSON `json:"change"`
	Items   []itemJSON `json:"items,omitempty"`
}

// changeJSON has what changes of a resource as trees: phase and item, then the
// attributes' paths. Sensitive values are null and marked.
type changeJSON struct {
	Actions         []string `json:"actions"`
	Before          tree     `json:"before"`
	After           tree     `json:"after"`
	AfterUnknown    tree     `json:"after_unknown"`
	BeforeSensitive tree     `json:"before_sensitive"`
	AfterSensitive  tree     `json:"after_sensitive"`
}

type itemJSON struct {
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
}

// PlanJSON prints a plan for programs, on one line.
func PlanJSON(w io.Writer, plan *planner.Plan) error { return compactJSON(w, planToJSON(plan)) }

func planToJSON(plan *planner.Plan) planJSON {
	add, change, remove := plan.Counts()
	out := planJSON{
		FormatVersion: jsonFormat, ToolVersion: plan.ToolVersion, Digest: planfile.Digest(plan), Lineage: plan.Lineage, Serial: plan.Serial, Destroy: plan.Destroy,
		Forgotten: plan.Forgotten, Targets: plan.Targets, SkippedPhases: plan.SkippedPhases,
		Complete: len(plan.Withheld) == 0 && !plan.Restricted(), Summary: summaryJSON{add, change, remove},
		ResourceChanges: []resourceJSON{}, ResourceDrift: []itemJSON{}, Steps: plan.Steps,
		Limits: plan.Limits, Quorum: plan.Quorum, Upgrades: plan.Upgrades, Rotations: plan.Rotations, Withheld: plan.Withheld, PlannedValues: plannedJSON{outputsJSON(plan.Outputs)},
	}
	if out.Steps == nil {
		out.Steps = []planner.Step{}
	}
	byTarget := map[state.Target][]planner.Change{}
	for _, c := range plan.Changes {
		byTarget[c.Address.Target] = append(byTarget[c.Address.Target], c)
	}
	for _, r := range plan.Resources {
		out.ResourceChanges = append(out.ResourceChanges, resourceToJSON(r, byTarget[r.Target]))
	}
	for _, d := range plan.Drift {
		out.ResourceDrift = append(out.ResourceDrift, itemToJSON(d))
	}
	return out
}

func resourceToJSON(r planner.ResourceChange, changes []planner.Change) resourceJSON {
	out := resourceJSON{
		Address: r.Target.String(), Mode: "managed", Type: r.Target.Type, Name: r.Target.Name,
		Note: r.Note, Reason: r.Reason, Change: changeJSON{Actions: actions(r.Action)},
	}
	if r.Target.Keyed {
		key := r.Target.Key
		out.Index = &key
	}
	c := &out.Change
	if r.Action != planner.Create {
		c.Before, c.BeforeSensitive = tree{}, tree{}
	}
	if r.Action != planner.Delete {
		c.After, c.AfterUnknown, c.AfterSensitive = tree{}, tree{}, tree{}
	}
	for _, ch := range changes {
		out.Items = append(out.Items, itemToJSON(ch))
		base := []string{phaseName(phase{id: ch.Address}), ch.Address.Item}
		for _, a := range ch.Attributes {
			path := append(base[:2:2], state.SplitPath(a.Path)...)
			c.Before.put(path, known(a.Before), !a.Before.IsNull())
			c.After.put(path, known(a.After), !a.After.IsNull() && !a.After.IsPending())
			c.AfterUnknown.put(path, true, a.After.IsPending())
			c.BeforeSensitive.put(path, true, a.Before.HasSensitive())
			c.AfterSensitive.put(path, true, a.After.HasSensitive())
		}
	}
	return out
}

// tree is a JSON object that grows by paths.
type tree map[string]any

// put sets the value at a path when there is one to set and a tree to hold it.
func (t tree) put(path []string, value any, set bool) {
	if t == nil || !set {
		return
	}
	for _, k := range path[:len(path)-1] {
		next, ok := t[k].(tree)
		if !ok {
			next = tree{}
			t[k] = next
		}
		t = next
	}
	t[path[len(path)-1]] = value
}

// known is a value as JSON shows it: what is secret or not known is null.
func known(v state.Value) any {
	switch v.Kind() {
	case state.KindPending, state.KindSensitive:
		return nil
	case state.KindMap:
		out := map[string]any{}
		for k, e := range v.AsMap() {
			out[k] = known(e)
		}
		return out
	case state.KindList:
		out := []any{}
		for _, e := range v.AsList() {
			out = append(out, known(e))
		}
		return out
	case state.KindArgs:
		out := []any{}
		for _, a := range v.AsArgs() {
			out = append(out, map[string]any{"name": a.Name, "value": known(a.Of())})
		}
		return out
	}
	return v.Go()
}

func itemToJSON(c planner.Change) itemJSON {
	out := itemJSON{Address: c.Address.String(), Kind: c.Kind, Actions: actions(c.Action), Reason: c.Reason, Cost: c.Cost}
	for _, a := range c.Attributes {
		out.Attributes = append(out.Attributes, attributeJSON{
			Path: a.Path, Before: known(a.Before), After: known(a.After), AfterUnknown: a.After.IsPending(),
			Sensitive: a.Before.HasSensitive() || a.After.HasSensitive(), Origin: a.Origin.String(),
		})
	}
	return out
}

// actions are Terraform's words: a replacement is two, so that whoever looks
// for "delete" finds it.
func actions(a planner.Action) []string {
	switch a {
	case planner.Replace:
		return []string{"delete", "create"}
	case "":
		return []string{string(planner.NoOp)}
	}
	return []string{string(a)}
}

func outputsJSON(outputs map[string]state.Value) map[string]outputJSON {
	out := map[string]outputJSON{}
	for name, v := range outputs {
		out[name] = outputJSON{Value: known(v), Sensitive: v.Kind() == state.KindSensitive, Unknown: v.IsPending()}
	}
	return out
}

// OutputsJSON prints outputs for programs.
func OutputsJSON(w io.Writer, outputs map[string]state.Value) error {
	return writeJSON(w, outputsJSON(outputs))
}

// StateJSON prints the state for programs.
func StateJSON(w io.Writer, st *state.State) error {
	type resource struct {
		Address string                 `json:"address"`
		Mode    string                 `json:"mode"`
		Type    string                 `json:"type"`
		Name    string                 `json:"name"`
		Index   *string                `json:"index,omitempty"`
		Node    *state.RecordedNode    `json:"node,omitempty"`
		Cluster *state.RecordedCluster `json:"cluster,omitempty"`
		Values  tree                   `json:"values"`
	}
	resources := []resource{}
	for _, t := range targetsOf(st) {
		r := resource{Address: t.String(), Mode: "managed", Type: t.Type, Name: t.Name, Node: st.Nodes[t], Values: tree{}}
		if t.Keyed {
			r.Index = &t.Key
		}
		if t.Type == state.TypeCluster {
			r.Cluster = st.Clusters[t.Name]
		}
		for _, it := range st.Items {
			if it.Address.Target == t {
				r.Values.put([]string{it.Address.Phase, it.Address.Item}, known(it.Attributes), true)
			}
		}
		resources = append(resources, r)
	}
	return writeJSON(w, map[string]any{
		"format_version": jsonFormat, "kubewright_version": st.ToolVersion, "lineage": st.Lineage, "serial": st.Serial,
		"values": map[string]any{"outputs": outputsJSON(st.Outputs), "resources": resources},
	})
}

// ValidateJSON prints findings for programs, as one document.
func ValidateJSON(w io.Writer, list diag.Diagnostics, source func(file string) []byte) error {
	list = append(diag.Diagnostics{}, list...)
	list.Sort()
	found := []diag.JSON{}
	for _, d := range list {
		found = append(found, d.JSON(source))
	}
	return writeJSON(w, struct {
		FormatVersion string      `json:"format_version"`
		Valid         bool        `json:"valid"`
		Errors        int         `json:"error_count"`
		Warnings      int         `json:"warning_count"`
		Diagnostics   []diag.JSON `json:"diagnostics"`
	}{jsonFormat, !list.HasErrors(), len(list.Errors()), len(list.Warnings()), found})
}

// writeJSON prints a value as one document, indented.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// compactJSON prints a value as one document on one line.
func compactJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

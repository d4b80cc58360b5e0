package pipeline_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// planFilter chooses what is written of a plan. By default that is everything that an operator reads:
// summary, resources, drift, changes, waypoints, steps, sentences, and what is withheld. Of an item
// that is created or deleted only the number of attributes is written, of a long text its beginning;
// of a change neither the reason "not there yet" nor the cost "none"; of a step neither the node that
// it goes through nor expected digests, and limits only if a filter shows them.
// The lines of a filter section leave out more:
//
//	show PART PATTERN…  only these; * stands for any text
//	hide PART           none of them
//	hide PART PATTERN…  all but these
//
// PART is one of planParts. A pattern is compared with the target of a resource, the address of a
// change, of drift or of a forgotten item, the path of an attribute, the address of a step or needed
// step, the name and the summary of an operation, the name of a gate or limit. What is left out of
// changes, drift, forgotten items, steps and operations is counted.
type planFilter map[string][]planRule

type planRule struct {
	show    bool
	pattern *regexp.Regexp
}

// planParts are what a filter can leave out.
var planParts = []string{"resources", "drift", "changes", "attributes", "forgotten", "steps", "needs", "operations", "gates", "limits"}

func parsePlanFilter(text string) (planFilter, error) {
	f := planFilter{}
	for _, line := range planLines(text) {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != "show" && words[0] != "hide" || !slices.Contains(planParts, words[1]) || len(words) == 2 && words[0] == "show" {
			return nil, fmt.Errorf("filter %q is not written show PART PATTERN… or hide PART, with PART one of %s", line, strings.Join(planParts, ", "))
		}
		if len(words) == 2 {
			words = append(words, "*")
		}
		for _, w := range words[2:] {
			pattern := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(w), `\*`, ".*") + "$")
			f[words[1]] = append(f[words[1]], planRule{words[0] == "show", pattern})
		}
	}
	return f, nil
}

// shows reports whether a part with one of these names is written.
func (f planFilter) shows(part string, names ...string) bool {
	asked, shown := false, false
	for _, r := range f[part] {
		matches := slices.ContainsFunc(names, r.pattern.MatchString)
		if !r.show && matches {
			return false
		}
		asked, shown = asked || r.show, shown || matches
	}
	return shown || !asked
}

// planField is a field of a JSON object, in order.
type planField struct {
	name  string
	value any
}

// planObject is a JSON object with ordered fields. Empty lists and texts are no fields.
type planObject []planField

func (o *planObject) add(name string, value any) {
	switch v := value.(type) {
	case string:
		if v == "" {
			return
		}
	case []any:
		if len(v) == 0 {
			return
		}
	}
	*o = append(*o, planField{name, value})
}

// print writes a plan as JSON; nothing without a plan.
func (f planFilter) print(p *planner.Plan) string {
	if p == nil {
		return ""
	}
	left := map[string]int{}
	var out planObject
	add, change, destroy := p.Counts()
	out.add("summary", fmt.Sprintf("%d to add, %d to change, %d to destroy", add, change, destroy))
	var resources []any
	for _, r := range p.Resources {
		if (r.Action != planner.NoOp || r.ImportedFrom != "" || !r.MovedFrom.IsZero()) && f.shows("resources", r.Target.String()) {
			resources = append(resources, printResource(r))
		}
	}
	out.add("resources", resources)
	out.add("moved", printedAll(p.Moved, func(m state.Moved) string { return m.From.String() + " -> " + m.To.String() }))
	out.add("drift", f.changes("drift", p.Drift, left))
	out.add("changes", f.changes("changes", p.Changes, left))
	var forgotten []any
	for _, a := range p.Forgotten {
		if f.shows("forgotten", a.String()) {
			forgotten = append(forgotten, a.String())
		} else {
			left["forgotten"]++
		}
	}
	out.add("forgotten", forgotten)
	out.add("waypoints", waypointsOf(p))
	var steps []any
	for i := range p.Steps {
		if !f.shows("steps", p.Steps[i].ID.String()) {
			left["steps"]++
			continue
		}
		steps = append(steps, f.step(&p.Steps[i], left))
	}
	out.add("steps", steps)
	for _, s := range []struct {
		name string
		list []string
	}{{"quorum", p.Quorum}, {"upgrades", p.Upgrades}, {"rollouts", p.Rollouts}, {"rotations", p.Rotations}} {
		out.add(s.name, printedAll(s.list, func(s string) string { return s }))
	}
	out.add("withheld", printedAll(p.Withheld, func(u state.Unobserved) string { return u.Target.String() + ": " + u.Reason }))
	out.add("withheld_steps", printedAll(p.WithheldSteps, func(w planner.WithheldStep) string { return w.Step.String() + ": " + w.Reason }))
	out.add("unpermitted", printedAll(p.Unpermitted, state.Target.String))
	out.add("interrupted", printedAll(p.Interrupted, func(s string) string { return s }))
	var counts planObject
	for _, part := range planParts {
		if left[part] > 0 {
			counts = append(counts, planField{part, left[part]})
		}
	}
	if counts != nil {
		out = append(out, planField{"left_out", counts})
	}
	var b strings.Builder
	writePlanJSON(&b, out, "", 0)
	return b.String() + "\n"
}

func printResource(r planner.ResourceChange) planObject {
	var o planObject
	o.add("target", r.Target.String())
	o.add("action", string(r.Action))
	o.add("reason", r.Reason)
	if !r.MovedFrom.IsZero() {
		o.add("moved_from", r.MovedFrom.String())
	}
	o.add("imported_from", r.ImportedFrom)
	return o
}

// printedAll returns the printed forms of a list.
func printedAll[T any](list []T, print func(T) string) []any {
	var out []any
	for _, v := range list {
		out = append(out, print(v))
	}
	return out
}

// waypointsOf returns the waypoints of a plan, in the order of the steps.
func waypointsOf(p *planner.Plan) []any {
	var out []any
	for _, s := range p.Steps {
		if w := s.ID.Waypoint; w != "" && !slices.Contains(out, any(w)) {
			out = append(out, w)
		}
	}
	return out
}

func (f planFilter) changes(part string, list []planner.Change, left map[string]int) []any {
	var out []any
	for _, c := range list {
		if !f.shows(part, c.Address.String()) {
			left[part]++
			continue
		}
		var o planObject
		o.add("address", c.Address.String())
		o.add("action", string(c.Action))
		if c.Reason != planner.ReasonNew {
			o.add("reason", c.Reason)
		}
		if c.Cost != planner.CostNone {
			o.add("cost", string(c.Cost))
		}
		if c.Action == planner.Create || c.Action == planner.Delete || c.Action == planner.Forget {
			if len(f["attributes"]) == 0 || !slices.ContainsFunc(f["attributes"], func(r planRule) bool { return r.show }) {
				o.add("attributes", len(c.Attributes))
				out = append(out, o)
				continue
			}
		}
		var attributes []any
		for _, a := range c.Attributes {
			if f.shows("attributes", a.Path) {
				attributes = append(attributes, planObject{{"path", a.Path}, {"before", shortValue(a.Before)}, {"after", shortValue(a.After)}})
			}
		}
		o.add("attributes", attributes)
		out = append(out, o)
	}
	return out
}

// shortValue returns a value as JSON has it, with long texts cut.
func shortValue(v state.Value) any {
	b, err := v.MarshalJSON()
	if err != nil {
		return err.Error()
	}
	var tree any
	if err := json.Unmarshal(b, &tree); err != nil {
		return err.Error()
	}
	return shortTexts(tree)
}

// maxText is how long a text may be that is written as a whole.
const maxText = 100

func shortTexts(tree any) any {
	switch v := tree.(type) {
	case string:
		if r := []rune(v); len(r) > maxText {
			return fmt.Sprintf("%s… (%d characters)", string(r[:maxText/2]), len(r))
		}
	case []any:
		for i := range v {
			v[i] = shortTexts(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = shortTexts(v[k])
		}
	}
	return tree
}

func (f planFilter) step(s *planner.Step, left map[string]int) planObject {
	var o planObject
	o.add("id", s.ID.String())
	var needs, operations, gates, limits []any
	for _, n := range s.Needs {
		if f.shows("needs", n.String()) {
			needs = append(needs, n.String())
		}
	}
	for _, op := range s.Operations {
		if !f.shows("operations", op.Op(), op.Summary()) {
			left["operations"]++
			continue
		}
		operations = append(operations, planObject{{"op", op.Op()}, {"summary", op.Summary()}})
	}
	for _, g := range s.Gates {
		if f.shows("gates", g) {
			gates = append(gates, g)
		}
	}
	for _, l := range s.Limits {
		if len(f["limits"]) > 0 && f.shows("limits", l) {
			limits = append(limits, l)
		}
	}
	o.add("needs", needs)
	o.add("limits", limits)
	o.add("operations", operations)
	o.add("gates", gates)
	o.add("impact", s.Impact)
	if s.Finally {
		o.add("finally", true)
	}
	return o
}

// printPlanFindings writes the title and the first sentence of each finding.
func printPlanFindings(diags diag.Diagnostics) string {
	var b strings.Builder
	for _, d := range diags {
		fmt.Fprintf(&b, "%s: %s\n", d.Severity, d.Summary)
		text := strings.Join(strings.Fields(d.Detail), " ")
		if end := sentenceStop.FindStringIndex(text); end != nil {
			text = text[:end[0]+1]
		}
		fmt.Fprintf(&b, "  %s\n", text)
	}
	return b.String()
}

// sentenceStop matches the full stop of a sentence.
var sentenceStop = regexp.MustCompile(`\.( |$)`)

// planWidth is how wide a line of a written plan may be before it is broken.
const planWidth = 120

// writePlanJSON writes a value on one line if it fits, and otherwise its parts on lines of their own.
func writePlanJSON(b *strings.Builder, v any, indent string, column int) {
	line := oneLine(v)
	if indent != "" && column+len([]rune(line)) <= planWidth {
		b.WriteString(line)
		return
	}
	inner := indent + "  "
	switch v := v.(type) {
	case planObject:
		b.WriteString("{\n")
		for i, f := range v {
			name := oneLine(f.name) + ": "
			b.WriteString(inner + name)
			writePlanJSON(b, f.value, inner, len(inner+name)+1)
			b.WriteString(comma(i, len(v)))
		}
		b.WriteString(indent + "}")
	case []any:
		b.WriteString("[\n")
		for i, e := range v {
			b.WriteString(inner)
			writePlanJSON(b, e, inner, len(inner)+1)
			b.WriteString(comma(i, len(v)))
		}
		b.WriteString(indent + "]")
	default:
		b.WriteString(line)
	}
}

func comma(i, n int) string {
	if i < n-1 {
		return ",\n"
	}
	return "\n"
}

// oneLine writes a value on one line.
func oneLine(v any) string {
	switch v := v.(type) {
	case planObject:
		var parts []string
		for _, f := range v {
			parts = append(parts, oneLine(f.name)+": "+oneLine(f.value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		var parts []string
		for _, e := range v {
			parts = append(parts, oneLine(e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func udiffOf(want, got string) string { return udiff.Unified("want", "got", want, got) }

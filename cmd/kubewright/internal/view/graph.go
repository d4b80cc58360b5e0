package view

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// graphs are the forms of a graph, by name.
var graphs = map[string]func(io.Writer, *planner.Plan, Options) error{
	"dot":     func(w io.Writer, plan *planner.Plan, _ Options) error { return dot(w, plan) },
	"mermaid": func(w io.Writer, plan *planner.Plan, _ Options) error { return mermaid(w, plan) },
	"json":    func(w io.Writer, plan *planner.Plan, _ Options) error { return graphJSON(w, plan) },
	"html":    graphPage,
}

// GraphFormats returns the names of the forms of a graph.
func GraphFormats() []string { return slices.Sorted(maps.Keys(graphs)) }

// GraphFormat says what is wrong with the name of a form.
func GraphFormat(format string) error {
	if graphs[format] == nil {
		return fmt.Errorf("unknown format %q of a graph; use %s", format, list(GraphFormats()))
	}
	return nil
}

// Graph prints the steps of a plan and what each waits for: as dot, mermaid, json
// or a page. Solid edges are needs; dashed ones come from a limit of one, in the
// order of the plan.
func Graph(w io.Writer, plan *planner.Plan, format string, o Options) error {
	if err := GraphFormat(format); err != nil {
		return err
	}
	return graphs[format](w, plan, o)
}

// edge leads from a step to one that comes after it.
type edge struct {
	from, to int
	// limit is the name of the limit that makes one wait for the other.
	limit string
}

func edgesOf(plan *planner.Plan) []edge {
	place := map[state.Address]int{}
	last := map[string]int{}
	var out []edge
	for i, s := range plan.Steps {
		needed := map[int]bool{}
		for _, n := range s.Needs {
			if j, ok := place[n]; ok {
				needed[j] = true
				out = append(out, edge{from: j, to: i})
			}
		}
		for _, l := range s.Limits {
			if plan.Limits[l] != 1 {
				continue
			}
			if j, ok := last[l]; ok && !needed[j] {
				out = append(out, edge{j, i, l})
			}
			last[l] = i
		}
		place[s.ID] = i
	}
	return out
}

// byTarget lists the targets that have steps, with the places of those.
func byTarget(plan *planner.Plan) (targets []state.Target, steps map[state.Target][]int) {
	steps = map[state.Target][]int{}
	for i, s := range plan.Steps {
		if steps[s.Target] == nil {
			targets = append(targets, s.Target)
		}
		steps[s.Target] = append(steps[s.Target], i)
	}
	return targets, steps
}

func dot(w io.Writer, plan *planner.Plan) error {
	p := newPage(Options{})
	p.line("digraph plan {")
	p.line(`  rankdir = "LR"`)
	p.line(`  node [shape = "box", style = "rounded"]`)
	targets, steps := byTarget(plan)
	for i, t := range targets {
		p.line("  subgraph cluster_", strconv.Itoa(i), " {")
		p.line("    label = ", strconv.Quote(Clean(t.String())))
		for _, n := range steps[t] {
			s := plan.Steps[n]
			p.line("    ", strconv.Quote(Clean(s.ID.String())), " [label = ", strconv.Quote(symbolText(s.Action)+phaseName(s.ID)), "]")
		}
		p.line("  }")
	}
	for _, e := range edgesOf(plan) {
		attributes := ""
		if e.limit != "" {
			attributes = ` [style = "dashed"]`
		}
		p.line("  ", strconv.Quote(Clean(plan.Steps[e.from].ID.String())), " -> ", strconv.Quote(Clean(plan.Steps[e.to].ID.String())), attributes)
	}
	p.line("}")
	return p.flush(w)
}

// symbolText returns an action's symbol with a space, for a label.
func symbolText(a planner.Action) string {
	s := strings.TrimSpace(string(symbolOf(a)))
	if s == "" {
		return ""
	}
	return s + " "
}

func mermaid(w io.Writer, plan *planner.Plan) error {
	p := newPage(Options{})
	p.line("flowchart LR")
	targets, steps := byTarget(plan)
	for i, t := range targets {
		p.line("  subgraph t", strconv.Itoa(i), "[", mermaidText(t.String()), "]")
		for _, n := range steps[t] {
			s := plan.Steps[n]
			p.line("    s", strconv.Itoa(n), "[", mermaidText(symbolText(s.Action)+phaseName(s.ID)), "]")
		}
		p.line("  end")
	}
	for _, e := range edgesOf(plan) {
		arrow := " --> "
		if e.limit != "" {
			arrow = " -.-> "
		}
		p.line("  s", strconv.Itoa(e.from), arrow, "s", strconv.Itoa(e.to))
	}
	return p.flush(w)
}

// mermaidText quotes a label; mermaid knows HTML entities and no backslashes.
func mermaidText(s string) string {
	return `"` + strings.NewReplacer(`"`, "#quot;", "<", "#lt;", ">", "#gt;").Replace(Clean(s)) + `"`
}

type graphNode struct {
	ID     string         `json:"id"`
	Target string         `json:"target"`
	Phase  string         `json:"phase"`
	Action planner.Action `json:"action"`
	Impact string         `json:"impact,omitempty"`
}

type graphEdge struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Limit string `json:"limit,omitempty"`
}

func graphJSON(w io.Writer, plan *planner.Plan) error {
	nodes, edges := []graphNode{}, []graphEdge{}
	for _, s := range plan.Steps {
		nodes = append(nodes, graphNode{s.ID.String(), s.Target.String(), phaseName(s.ID), s.Action, s.Impact})
	}
	for _, e := range edgesOf(plan) {
		edges = append(edges, graphEdge{plan.Steps[e.from].ID.String(), plan.Steps[e.to].ID.String(), e.limit})
	}
	return WriteJSON(w, struct {
		FormatVersion string      `json:"format_version"`
		Nodes         []graphNode `json:"nodes"`
		Edges         []graphEdge `json:"edges"`
	}{jsonFormat, nodes, edges})
}

package graph

import (
	"io"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

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

// byTarget returns the targets that have steps, with the indexes of their steps.
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

// Dot prints the graph in the language of Graphviz.
func Dot(w io.Writer, plan *planner.Plan) error {
	p := ui.NewPage(ui.Options{})
	p.Line("digraph plan {")
	p.Line(`  rankdir = "LR"`)
	p.Line(`  node [shape = "box", style = "rounded"]`)
	targets, steps := byTarget(plan)
	for i, t := range targets {
		p.Line("  subgraph cluster_", strconv.Itoa(i), " {")
		p.Line("    label = ", strconv.Quote(ui.Clean(t.String())))
		for _, n := range steps[t] {
			s := plan.Steps[n]
			p.Line("    ", strconv.Quote(ui.Clean(s.ID.String())), " [label = ", strconv.Quote(symbolText(s.Action)+ui.PhaseName(s.ID)), "]")
		}
		p.Line("  }")
	}
	for _, e := range edgesOf(plan) {
		attributes := ""
		if e.limit != "" {
			attributes = ` [style = "dashed"]`
		}
		p.Line("  ", strconv.Quote(ui.Clean(plan.Steps[e.from].ID.String())), " -> ", strconv.Quote(ui.Clean(plan.Steps[e.to].ID.String())), attributes)
	}
	p.Line("}")
	return p.Flush(w)
}

// symbolText returns the symbol of an action with a space, for a label.
func symbolText(a planner.Action) string {
	s := strings.TrimSpace(string(ui.SymbolOf(a)))
	if s == "" {
		return ""
	}
	return s + " "
}

// Mermaid prints the graph as a flowchart of Mermaid, which GitHub and GitLab draw.
func Mermaid(w io.Writer, plan *planner.Plan) error {
	p := ui.NewPage(ui.Options{})
	p.Line("flowchart LR")
	targets, steps := byTarget(plan)
	for i, t := range targets {
		p.Line("  subgraph t", strconv.Itoa(i), "[", mermaidText(t.String()), "]")
		for _, n := range steps[t] {
			s := plan.Steps[n]
			p.Line("    s", strconv.Itoa(n), "[", mermaidText(symbolText(s.Action)+ui.PhaseName(s.ID)), "]")
		}
		p.Line("  end")
	}
	for _, e := range edgesOf(plan) {
		arrow := " --> "
		if e.limit != "" {
			arrow = " -.-> "
		}
		p.Line("  s", strconv.Itoa(e.from), arrow, "s", strconv.Itoa(e.to))
	}
	return p.Flush(w)
}

// mermaidText quotes a label; mermaid knows HTML entities and no backslashes.
func mermaidText(s string) string {
	return `"` + strings.NewReplacer(`"`, "#quot;", "<", "#lt;", ">", "#gt;").Replace(ui.Clean(s)) + `"`
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

// JSON prints the graph for programs.
func JSON(w io.Writer, plan *planner.Plan) error {
	nodes, edges := []graphNode{}, []graphEdge{}
	for _, s := range plan.Steps {
		nodes = append(nodes, graphNode{s.ID.String(), s.Target.String(), ui.PhaseName(s.ID), s.Action, s.Impact})
	}
	for _, e := range edgesOf(plan) {
		edges = append(edges, graphEdge{plan.Steps[e.from].ID.String(), plan.Steps[e.to].ID.String(), e.limit})
	}
	return ui.WriteJSON(w, struct {
		FormatVersion string      `json:"format_version"`
		Nodes         []graphNode `json:"nodes"`
		Edges         []graphEdge `json:"edges"`
	}{ui.JSONVersion, nodes, edges})
}

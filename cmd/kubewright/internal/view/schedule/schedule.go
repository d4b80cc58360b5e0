package schedule

import (
	"cmp"
	"slices"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// operator is how the kids of an expression follow one another.
type operator int

const (
	single   operator = iota // a group, no kids
	chain                    // one after another
	parallel                 // side by side
)

// expr is an order of steps.
type expr struct {
	op   operator
	kids []expr
	group
}

// group is one phase on targets that run it in parallel.
type group struct {
	Name    string
	Targets []state.Target
}

// Vertex is a part of an order that is still being reduced. Its index identifies it.
type Vertex struct {
	expr
	Depth  int
	After  map[int]bool // what it comes after
	Until  map[int]bool // what comes after it
	merged bool
}

// independentParts returns the order of a plan's steps, one expression per independent part.
func independentParts(plan *planner.Plan) []expr {
	vs := NewVertices(plan)
	Reduce(vs)
	for contract(vs) {
	}
	return parts(vs)
}

// NewVertices joins the steps of one phase that are equally deep in the graph, which cannot wait
// for one another.
func NewVertices(plan *planner.Plan) []*Vertex {
	edges := Waits(plan)
	type kind struct {
		name  string
		typ   string
		depth int
	}
	var vs []*Vertex
	place := map[kind]int{}
	of := make([]int, len(plan.Steps))
	depth := make([]int, len(plan.Steps))
	for i, s := range plan.Steps {
		for _, j := range edges[i] {
			depth[i] = max(depth[i], depth[j]+1)
		}
		k := kind{ui.PhaseName(s.ID), s.Target.Type, depth[i]}
		v, ok := place[k]
		if !ok {
			v = len(vs)
			place[k] = v
			vs = append(vs, &Vertex{
				expr:  expr{group: group{Name: k.name}},
				Depth: depth[i], After: map[int]bool{}, Until: map[int]bool{},
			})
		}
		vs[v].Targets = append(vs[v].Targets, s.Target)
		of[i] = v
		for _, j := range edges[i] {
			vs[v].After[of[j]] = true
			vs[of[j]].Until[v] = true
		}
	}
	return vs
}

// Waits returns for each step the steps that it waits for: its needs, and the previous step under
// the same limit of one.
func Waits(plan *planner.Plan) [][]int {
	place := map[state.Address]int{}
	last := map[string]int{}
	out := make([][]int, len(plan.Steps))
	for i, s := range plan.Steps {
		for _, n := range s.Needs {
			if j, ok := place[n]; ok {
				out[i] = append(out[i], j)
			}
		}
		for _, l := range s.Limits {
			if plan.Limits[l] != 1 {
				continue
			}
			if j, ok := last[l]; ok {
				out[i] = append(out[i], j)
			}
			last[l] = i
		}
		place[s.ID] = i
	}
	return out
}

// Reduce drops edges that longer paths imply.
func Reduce(vs []*Vertex) {
	order := make([]int, len(vs))
	for i := range vs {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(vs[a].Depth, vs[b].Depth) })
	above := make([]map[int]bool, len(vs))
	for _, i := range order {
		above[i] = map[int]bool{}
		for j := range vs[i].After {
			for k := range above[j] {
				above[i][k] = true
			}
		}
		for j := range vs[i].After {
			if above[i][j] {
				delete(vs[i].After, j)
				delete(vs[j].Until, i)
			}
		}
		for j := range vs[i].After {
			above[i][j] = true
		}
	}
}

// contract joins two neighbours of a chain, or two vertices between the same others. It reports
// whether there was anything to join.
func contract(vs []*Vertex) bool {
	for i, v := range vs {
		if v.merged || len(v.Until) != 1 {
			continue
		}
		for j := range v.Until {
			if len(vs[j].After) == 1 {
				link(vs, i, j)
				return true
			}
		}
	}
	for i, v := range vs {
		if v.merged || len(v.After)+len(v.Until) == 0 {
			continue
		}
		for j := i + 1; j < len(vs); j++ {
			if w := vs[j]; !w.merged && equal(v.After, w.After) && equal(v.Until, w.Until) {
				join(vs, i, j)
				return true
			}
		}
	}
	return false
}

// link makes a chain of i and its only successor j.
func link(vs []*Vertex, i, j int) {
	v, w := vs[i], vs[j]
	v.expr = expr{op: chain, kids: append(flat(v.expr, chain), flat(w.expr, chain)...)}
	v.Until = w.Until
	for k := range w.Until {
		delete(vs[k].After, j)
		vs[k].After[i] = true
	}
	w.merged = true
}

// join makes j parallel to i.
func join(vs []*Vertex, i, j int) {
	v, w := vs[i], vs[j]
	v.expr = expr{op: parallel, kids: append(flat(v.expr, parallel), flat(w.expr, parallel)...)}
	for k := range w.After {
		delete(vs[k].Until, j)
	}
	for k := range w.Until {
		delete(vs[k].After, j)
	}
	w.merged = true
}

// flat returns the kids of an expression of this operator, or the expression itself.
func flat(x expr, op operator) []expr {
	if x.op == op {
		return x.kids
	}
	return []expr{x}
}

func equal(a, b map[int]bool) bool {
	if len(a) != len(b) {
		return false
	}
	for k := range a {
		if !b[k] {
			return false
		}
	}
	return true
}

// parts returns one expression per independent part. A part that is not made of chains and
// parallel branches alone is cut into levels, one after another.
func parts(vs []*Vertex) []expr {
	var out []expr
	seen := map[int]bool{}
	for i, v := range vs {
		if v.merged || seen[i] {
			continue
		}
		members := connected(vs, i, seen)
		if len(members) == 1 {
			out = append(out, v.expr)
			continue
		}
		out = append(out, levels(vs, members))
	}
	return out
}

func connected(vs []*Vertex, from int, seen map[int]bool) []int {
	todo, members := []int{from}, []int{}
	seen[from] = true
	for len(todo) > 0 {
		i := todo[0]
		todo, members = todo[1:], append(members, i)
		for _, next := range []map[int]bool{vs[i].After, vs[i].Until} {
			for j := range next {
				if !seen[j] {
					seen[j] = true
					todo = append(todo, j)
				}
			}
		}
	}
	slices.Sort(members)
	return members
}

func levels(vs []*Vertex, members []int) expr {
	level := map[int]int{}
	slices.SortStableFunc(members, func(a, b int) int { return cmp.Compare(vs[a].Depth, vs[b].Depth) })
	byLevel := map[int][]int{}
	for _, i := range members {
		for j := range vs[i].After {
			level[i] = max(level[i], level[j]+1)
		}
		byLevel[level[i]] = append(byLevel[level[i]], i)
	}
	out := expr{op: chain}
	for n := range len(byLevel) {
		stage := expr{op: parallel}
		for _, i := range byLevel[n] {
			stage.kids = append(stage.kids, flat(vs[i].expr, parallel)...)
		}
		if len(stage.kids) == 1 {
			out.kids = append(out.kids, flat(stage.kids[0], chain)...)
			continue
		}
		out.kids = append(out.kids, stage)
	}
	return out
}

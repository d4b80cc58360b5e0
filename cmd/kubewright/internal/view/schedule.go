package view

import (
	"cmp"
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// operator says how the kids of an expression follow one another.
type operator int

const (
	single operator = iota // a group, no kids
	chain                  // one after another
	beside                 // side by side
)

// expr is an order of steps as it is printed.
type expr struct {
	op   operator
	kids []expr
	group
}

// group is one phase on targets that run it side by side.
type group struct {
	name    string
	targets []state.Target
}

// vertex is a part of the order that is still being sorted out. Its place in
// the list is its name.
type vertex struct {
	expr
	depth int
	after map[int]bool // what it comes after
	until map[int]bool // what comes after it
	gone  bool
}

// schedule sorts out the steps of a plan into independent parts.
func schedule(plan *planner.Plan) []expr {
	vs := groups(plan)
	reduce(vs)
	for contract(vs) {
	}
	return parts(vs)
}

// groups joins the steps of one phase that are equally deep in the graph: they
// cannot wait for one another.
func groups(plan *planner.Plan) []*vertex {
	edges := waits(plan)
	type kind struct {
		name  string
		typ   string
		depth int
	}
	var vs []*vertex
	place := map[kind]int{}
	of := make([]int, len(plan.Steps))
	depth := make([]int, len(plan.Steps))
	for i, s := range plan.Steps {
		for _, j := range edges[i] {
			depth[i] = max(depth[i], depth[j]+1)
		}
		k := kind{phaseName(s.ID), s.Target.Type, depth[i]}
		v, ok := place[k]
		if !ok {
			v = len(vs)
			place[k] = v
			vs = append(vs, &vertex{
				expr:  expr{group: group{name: k.name}},
				depth: depth[i], after: map[int]bool{}, until: map[int]bool{},
			})
		}
		vs[v].targets = append(vs[v].targets, s.Target)
		of[i] = v
		for _, j := range edges[i] {
			vs[v].after[of[j]] = true
			vs[of[j]].until[v] = true
		}
	}
	return vs
}

// waits lists for each step the steps before it: what it needs, and the last
// one that shares a limit of one with it.
func waits(plan *planner.Plan) [][]int {
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

// reduce drops edges that longer ways imply.
func reduce(vs []*vertex) {
	order := make([]int, len(vs))
	for i := range vs {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(vs[a].depth, vs[b].depth) })
	above := make([]map[int]bool, len(vs))
	for _, i := range order {
		above[i] = map[int]bool{}
		for j := range vs[i].after {
			for k := range above[j] {
				above[i][k] = true
			}
		}
		for j := range vs[i].after {
			if above[i][j] {
				delete(vs[i].after, j)
				delete(vs[j].until, i)
			}
		}
		for j := range vs[i].after {
			above[i][j] = true
		}
	}
}

// contract joins two neighbours of a chain, or all that stand between the same
// two; it reports whether there was anything to join.
func contract(vs []*vertex) bool {
	for i, v := range vs {
		if v.gone || len(v.until) != 1 {
			continue
		}
		for j := range v.until {
			if len(vs[j].after) == 1 {
				link(vs, i, j)
				return true
			}
		}
	}
	for i, v := range vs {
		if v.gone || len(v.after)+len(v.until) == 0 {
			continue
		}
		for j := i + 1; j < len(vs); j++ {
			if w := vs[j]; !w.gone && equal(v.after, w.after) && equal(v.until, w.until) {
				join(vs, i, j)
				return true
			}
		}
	}
	return false
}

// link makes a chain of i and its only follower j.
func link(vs []*vertex, i, j int) {
	v, w := vs[i], vs[j]
	v.expr = expr{op: chain, kids: append(flat(v.expr, chain), flat(w.expr, chain)...)}
	v.until = w.until
	for k := range w.until {
		delete(vs[k].after, j)
		vs[k].after[i] = true
	}
	w.gone = true
}

// join puts j beside i.
func join(vs []*vertex, i, j int) {
	v, w := vs[i], vs[j]
	v.expr = expr{op: beside, kids: append(flat(v.expr, beside), flat(w.expr, beside)...)}
	for k := range w.after {
		delete(vs[k].until, j)
	}
	for k := range w.until {
		delete(vs[k].after, j)
	}
	w.gone = true
}

// flat returns the kids of an expression of the operator, or itself.
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

// parts gives one expression per independent part. A part that is no pattern
// of chains and sides is cut into levels, one after another.
func parts(vs []*vertex) []expr {
	var out []expr
	seen := map[int]bool{}
	for i, v := range vs {
		if v.gone || seen[i] {
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

func connected(vs []*vertex, from int, seen map[int]bool) []int {
	todo, members := []int{from}, []int{}
	seen[from] = true
	for len(todo) > 0 {
		i := todo[0]
		todo, members = todo[1:], append(members, i)
		for _, next := range []map[int]bool{vs[i].after, vs[i].until} {
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

func levels(vs []*vertex, members []int) expr {
	level := map[int]int{}
	slices.SortStableFunc(members, func(a, b int) int { return cmp.Compare(vs[a].depth, vs[b].depth) })
	byLevel := map[int][]int{}
	for _, i := range members {
		for j := range vs[i].after {
			level[i] = max(level[i], level[j]+1)
		}
		byLevel[level[i]] = append(byLevel[level[i]], i)
	}
	out := expr{op: chain}
	for n := range len(byLevel) {
		stage := expr{op: beside}
		for _, i := range byLevel[n] {
			stage.kids = append(stage.kids, flat(vs[i].expr, beside)...)
		}
		if len(stage.kids) == 1 {
			out.kids = append(out.kids, flat(stage.kids[0], chain)...)
			continue
		}
		out.kids = append(out.kids, stage)
	}
	return out
}

package dag

import (
	"container/heap"
	"fmt"
	"strings"
)

// Graph is a directed graph whose nodes keep the order in which they were
// added. The zero Graph is empty and ready to use.
type Graph[K comparable] struct {
	keys  []K
	index map[K]int
	// needs and dependants hold indices into keys, in the order of Connect.
	needs, dependants [][]int
}

// Add adds a node. Adding it again changes nothing.
func (g *Graph[K]) Add(key K) { g.add(key) }

func (g *Graph[K]) add(key K) int {
	if i, ok := g.index[key]; ok {
		return i
	}
	if g.index == nil {
		g.index = map[K]int{}
	}
	i := len(g.keys)
	g.index[key] = i
	g.keys = append(g.keys, key)
	g.needs = append(g.needs, nil)
	g.dependants = append(g.dependants, nil)
	return i
}

// Has reports whether the node was added.
func (g *Graph[K]) Has(key K) bool { _, ok := g.index[key]; return ok }

// Connect records that need has to be done before node. Nodes that are not in the graph yet are
// added, the need first. A repeated call changes nothing.
func (g *Graph[K]) Connect(node, need K) {
	from := g.add(need)
	to := g.add(node)
	for _, n := range g.needs[to] {
		if n == from {
			return
		}
	}
	g.needs[to] = append(g.needs[to], from)
	g.dependants[from] = append(g.dependants[from], to)
}

// Needs lists the needs of a node, in the order of Connect.
func (g *Graph[K]) Needs(key K) []K {
	i, ok := g.index[key]
	if !ok {
		return nil
	}
	out := make([]K, len(g.needs[i]))
	for n, need := range g.needs[i] {
		out[n] = g.keys[need]
	}
	return out
}

// Order lists all nodes so that each comes after its needs. Among the nodes that could come next,
// the one added first comes first. It fails with a *CycleError when there is no such order.
func (g *Graph[K]) Order() ([]K, error) {
	order, err := g.order()
	if err != nil {
		return nil, err
	}
	out := make([]K, len(order))
	for n, i := range order {
		out[n] = g.keys[i]
	}
	return out, nil
}

func (g *Graph[K]) order() ([]int, error) {
	missing := make([]int, len(g.keys))
	ready := &intHeap{}
	for i := range g.keys {
		missing[i] = len(g.needs[i])
		if missing[i] == 0 {
			*ready = append(*ready, i) // ascending, and so already a heap
		}
	}
	order := make([]int, 0, len(g.keys))
	for ready.Len() > 0 {
		i := heap.Pop(ready).(int)
		order = append(order, i)
		for _, d := range g.dependants[i] {
			if missing[d]--; missing[d] == 0 {
				heap.Push(ready, d)
			}
		}
	}
	if len(order) < len(g.keys) {
		return nil, g.cycle(missing)
	}
	return order, nil
}

// cycle finds a cycle among the nodes with unmet needs: each of them needs another one of them, so
// following the first such need has to return to a visited node.
func (g *Graph[K]) cycle(missing []int) error {
	at := 0
	for missing[at] == 0 {
		at++
	}
	seen := map[int]int{}
	var path []int
	for {
		if start, ok := seen[at]; ok {
			path = append(path[start:], at)
			break
		}
		seen[at] = len(path)
		path = append(path, at)
		for _, n := range g.needs[at] {
			if missing[n] > 0 {
				at = n
				break
			}
		}
	}
	err := &CycleError{}
	for _, i := range path {
		err.Path = append(err.Path, fmt.Sprint(g.keys[i]))
	}
	return err
}

// CycleError reports that nodes need each other in a circle.
type CycleError struct {
	// Path names the nodes; each needs the next, and the last is the first again.
	Path []string
}

// Error returns a message with the path.
func (e *CycleError) Error() string {
	return "cannot order: these need each other: " + strings.Join(e.Path, " → ")
}

type intHeap []int

func (h intHeap) Len() int           { return len(h) }
func (h intHeap) Less(i, j int) bool { return h[i] < h[j] }
func (h intHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *intHeap) Push(x any)        { *h = append(*h, x.(int)) }
func (h *intHeap) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}

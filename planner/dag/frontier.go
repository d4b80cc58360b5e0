package dag

import (
	"cmp"
	"fmt"
	"slices"
)

// Status is the status of a node in a walk.
//
//	Pending ── all needs Done ──► Ready ── Next ──► Running ── Done ──► Done
//	   │                                               └────── Fail ──► Failed
//	   └── a need Failed or Skipped ──► Skipped
//
// Done, Failed and Skipped are final. A Finally node becomes Ready once all its needs are final,
// and is Skipped only if all of them were.
type Status int

// The statuses of a node.
const (
	// Pending: a need is not done.
	Pending Status = iota
	// Ready: all needs are done; a limit may still hold the node back.
	Ready
	// Running: returned by Next, neither done nor failed.
	Running
	// Done: it succeeded.
	Done
	// Failed: it was tried and failed.
	Failed
	// Skipped: a need failed or was skipped, so the node never became ready.
	Skipped
)

// String returns the name of the status, in lower case.
func (s Status) String() string {
	return [...]string{"pending", "ready", "running", "done", "failed", "skipped"}[s]
}

// Node is one node of a walk.
type Node[K comparable] struct {
	Key   K
	Needs []K
	// Limits are names of limits on how many nodes run at once.
	Limits []string
	// Finally reports whether the node runs whatever the outcome of its needs, if any of them ran.
	Finally bool
	// Weight is the estimated duration of the node, in any unit common to all; 0 counts as 1.
	Weight float64
}

// Frontier is the state machine of a walk.
type Frontier[K comparable] struct {
	graph  Graph[K]
	nodes  []walker
	limits map[string]int
	used   map[string]int
	// ready holds indices of Ready nodes, the most urgent first.
	ready  []int
	counts [Skipped + 1]int
}

type walker struct {
	status  Status
	finally bool
	limits  []string
	missing int
	// remaining is the weight of the heaviest path from this node to an end.
	remaining float64
	// cause is the index of the node whose failure skipped this one, or -1.
	cause int
}

// NewFrontier returns the walk of the nodes, whose order breaks ties. A limit that is missing in
// limits is 1. It fails when a key occurs twice, a need is not a node, a limit is below 1, or with
// a *CycleError.
func NewFrontier[K comparable](nodes []Node[K], limits map[string]int) (*Frontier[K], error) {
	f := &Frontier[K]{limits: limits, used: map[string]int{}, nodes: make([]walker, len(nodes))}
	for name, n := range limits {
		if n < 1 {
			return nil, fmt.Errorf("cannot walk with limit %s of %d: it must be at least 1", name, n)
		}
	}
	for _, n := range nodes {
		if f.graph.Has(n.Key) {
			return nil, fmt.Errorf("cannot walk: %v is there twice", n.Key)
		}
		f.graph.Add(n.Key)
	}
	for _, n := range nodes {
		for _, need := range n.Needs {
			if !f.graph.Has(need) {
				return nil, fmt.Errorf("cannot walk: %v needs %v, which is not there", n.Key, need)
			}
			f.graph.Connect(n.Key, need)
		}
	}
	order, err := f.graph.order()
	if err != nil {
		return nil, err
	}
	f.prepare(nodes, order)
	return f, nil
}

// prepare computes priorities backwards from the ends and enqueues the nodes without needs.
func (f *Frontier[K]) prepare(nodes []Node[K], order []int) {
	for _, i := range slices.Backward(order) {
		n := &f.nodes[i]
		n.cause, n.finally = -1, nodes[i].Finally
		n.missing = len(f.graph.needs[i])
		n.limits = slices.Compact(slices.Sorted(slices.Values(nodes[i].Limits)))
		for _, d := range f.graph.dependants[i] {
			n.remaining = max(n.remaining, f.nodes[d].remaining)
		}
		n.remaining += cmp.Or(nodes[i].Weight, 1)
	}
	f.counts[Pending] = len(nodes)
	for i := range f.nodes {
		if f.nodes[i].missing == 0 {
			f.enqueue(i)
		}
	}
}

// set performs every transition.
func (f *Frontier[K]) set(i int, s Status) {
	f.counts[f.nodes[i].status]--
	f.nodes[i].status = s
	f.counts[s]++
}

func (f *Frontier[K]) enqueue(i int) {
	f.set(i, Ready)
	at, _ := slices.BinarySearchFunc(f.ready, i, func(a, b int) int {
		return cmp.Or(cmp.Compare(f.nodes[b].remaining, f.nodes[a].remaining), cmp.Compare(a, b))
	})
	f.ready = slices.Insert(f.ready, at, i)
}

// Next returns the most urgent ready node that the limits allow and marks it Running: the one with
// the longest path after it, then the one that came first. It returns false when no node may start
// now.
func (f *Frontier[K]) Next() (K, bool) {
	return f.NextOf(func(K) bool { return true })
}

// NextOf is Next among the nodes that chosen accepts; the others stay ready.
func (f *Frontier[K]) NextOf(chosen func(K) bool) (K, bool) {
	for at, i := range f.ready {
		if !f.allowed(i) || !chosen(f.graph.keys[i]) {
			continue
		}
		f.ready = slices.Delete(f.ready, at, at+1)
		for _, name := range f.nodes[i].limits {
			f.used[name]++
		}
		f.set(i, Running)
		return f.graph.keys[i], true
	}
	var none K
	return none, false
}

func (f *Frontier[K]) allowed(i int) bool {
	for _, name := range f.nodes[i].limits {
		if f.used[name] >= f.limit(name) {
			return false
		}
	}
	return true
}

func (f *Frontier[K]) limit(name string) int { return cmp.Or(f.limits[name], 1) }

// Done marks a running node done; its dependants may become ready.
func (f *Frontier[K]) Done(key K) {
	i := f.leave(key, Done)
	for _, d := range f.graph.dependants[i] {
		n := &f.nodes[d]
		if n.missing--; n.missing == 0 && n.status == Pending {
			f.enqueue(d)
		}
	}
}

// settle records that a need of a Finally node has failed or was skipped, and reports whether the
// node is skipped, because all of its needs were.
func (f *Frontier[K]) settle(i int) bool {
	n := &f.nodes[i]
	if n.missing--; n.missing > 0 {
		return false
	}
	if !f.anyRan(i) {
		return true
	}
	f.enqueue(i)
	return false
}

// anyRan reports whether any need of the node is done or has failed.
func (f *Frontier[K]) anyRan(i int) bool {
	return slices.ContainsFunc(f.graph.needs[i], func(need int) bool {
		return f.nodes[need].status == Done || f.nodes[need].status == Failed
	})
}

// Close ends the walk early, when no node runs any more: Next then only returns Finally nodes of
// whose needs any ran.
func (f *Frontier[K]) Close() {
	f.ready = nil
	for i := range f.nodes {
		n := &f.nodes[i]
		if n.finally && (n.status == Pending || n.status == Ready) && f.anyRan(i) {
			f.enqueue(i)
		}
	}
}

// Fail marks a running node failed, and all nodes that depend on it, directly or not, skipped. It
// returns the newly skipped nodes, in node order.
func (f *Frontier[K]) Fail(key K) []K {
	cause := f.leave(key, Failed)
	var skipped []int
	for queue := []int{cause}; len(queue) > 0; queue = queue[1:] {
		for _, d := range f.graph.dependants[queue[0]] {
			if f.nodes[d].status != Pending {
				continue // skipped before, by an earlier cause
			}
			if f.nodes[d].finally && !f.settle(d) {
				continue
			}
			f.set(d, Skipped)
			f.nodes[d].cause = cause
			skipped = append(skipped, d)
			queue = append(queue, d)
		}
	}
	slices.Sort(skipped)
	out := make([]K, len(skipped))
	for n, i := range skipped {
		out[n] = f.graph.keys[i]
	}
	return out
}

// leave moves a running node to a final status and frees its limits.
func (f *Frontier[K]) leave(key K, s Status) int {
	i, ok := f.graph.index[key]
	if !ok || f.nodes[i].status != Running {
		panic(fmt.Sprintf("internal error: %v is not running", key))
	}
	for _, name := range f.nodes[i].limits {
		f.used[name]--
	}
	f.set(i, s)
	return i
}

// Status returns the status of the node. An unknown node is Pending.
func (f *Frontier[K]) Status(key K) Status {
	i, ok := f.graph.index[key]
	if !ok {
		return Pending
	}
	return f.nodes[i].status
}

// Cause returns the node whose failure skipped this one, and whether it was skipped.
func (f *Frontier[K]) Cause(key K) (K, bool) {
	if i, ok := f.graph.index[key]; ok && f.nodes[i].cause >= 0 {
		return f.graph.keys[f.nodes[i].cause], true
	}
	var none K
	return none, false
}

// Count returns the number of nodes with the status.
func (f *Frontier[K]) Count(s Status) int { return f.counts[s] }

// Finished reports whether every node is done, failed or skipped.
func (f *Frontier[K]) Finished() bool {
	return f.counts[Done]+f.counts[Failed]+f.counts[Skipped] == len(f.nodes)
}

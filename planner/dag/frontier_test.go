package dag_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kubewright/kubewright/planner/dag"
)

type node = dag.Node[string]

func frontier(t *testing.T, limits map[string]int, nodes ...node) *dag.Frontier[string] {
	t.Helper()
	f, err := dag.NewFrontier(nodes, limits)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// startAll starts every node that may start now.
func startAll(f *dag.Frontier[string]) []string {
	var out []string
	for {
		key, ok := f.Next()
		if !ok {
			return out
		}
		out = append(out, key)
	}
}

func TestNextPrefersTheLongestPath(t *testing.T) {
	t.Parallel()
	f := frontier(t, nil,
		node{Key: "short"},
		node{Key: "head"}, node{Key: "tail", Needs: []string{"head"}},
		node{Key: "heavy", Weight: 30})
	if got, want := startAll(f), []string{"heavy", "head", "short"}; !slices.Equal(got, want) {
		t.Errorf("started %v, want %v", got, want)
	}
}

func TestNextRespectsLimits(t *testing.T) {
	t.Parallel()
	f := frontier(t, map[string]int{"drain": 2},
		node{Key: "a", Limits: []string{"drain"}},
		node{Key: "b", Limits: []string{"drain", "member"}},
		node{Key: "c", Limits: []string{"member"}},
		node{Key: "d", Limits: []string{"drain", "drain"}})
	if got, want := startAll(f), []string{"a", "b"}; !slices.Equal(got, want) {
		t.Fatalf("started %v, want %v", got, want)
	}
	f.Done("b")
	if got, want := startAll(f), []string{"c", "d"}; !slices.Equal(got, want) {
		t.Fatalf("then started %v, want %v", got, want)
	}
}

// TestFinallyNodeRunsWhateverTheOutcome checks that a Finally node runs once all of its needs have ended, whatever the
// outcome, and is skipped only if all of them were.
func TestFinallyNodeRunsWhateverTheOutcome(t *testing.T) {
	t.Parallel()
	nodes := []node{
		{Key: "a"},
		{Key: "b"},
		{Key: "a2", Needs: []string{"a"}},
		{Key: "last", Needs: []string{"a", "a2", "b"}, Finally: true},
		{Key: "after", Needs: []string{"last"}},
	}
	f := frontier(t, nil, nodes...)
	startAll(f)
	if got := f.Fail("a"); !slices.Equal(got, []string{"a2"}) {
		t.Errorf("Fail(a) = %v", got)
	}
	if got := startAll(f); len(got) != 0 {
		t.Errorf("started %v while b runs", got)
	}
	f.Done("b")
	if got := startAll(f); !slices.Equal(got, []string{"last"}) {
		t.Errorf("then started %v", got)
	}
	f.Done("last")
	if got := startAll(f); !slices.Equal(got, []string{"after"}) {
		t.Errorf("then started %v", got)
	}

	f = frontier(t, nil, append([]node{{Key: "first"}}, node{Key: "a", Needs: []string{"first"}}, node{Key: "last", Needs: []string{"a"}, Finally: true})...)
	startAll(f)
	if got := f.Fail("first"); !slices.Equal(got, []string{"a", "last"}) || !f.Finished() {
		t.Errorf("Fail(first) = %v", got)
	}
}

// TestCloseStartsOnlyCleanupNodes checks that after Close no further node starts, except nodes that clean up after those
// that ran.
func TestCloseStartsOnlyCleanupNodes(t *testing.T) {
	t.Parallel()
	f := frontier(t, nil,
		node{Key: "a"}, node{Key: "a2", Needs: []string{"a"}}, node{Key: "b", Needs: []string{"a2"}},
		node{Key: "behind a", Needs: []string{"a", "a2"}, Finally: true}, node{Key: "behind b", Needs: []string{"b"}, Finally: true})
	startAll(f)
	f.Done("a")
	f.Close()
	if got := startAll(f); !slices.Equal(got, []string{"behind a"}) {
		t.Errorf("started %v", got)
	}
	if f.Status("a2") != dag.Ready || f.Status("behind b") != dag.Pending {
		t.Errorf("a2 is %v, behind b is %v", f.Status("a2"), f.Status("behind b"))
	}
}

func TestFailSkipsWithTheFirstCause(t *testing.T) {
	t.Parallel()
	f := frontier(t, nil,
		node{Key: "a"}, node{Key: "b"},
		node{Key: "c", Needs: []string{"a", "b"}},
		node{Key: "d", Needs: []string{"c"}},
		node{Key: "e", Needs: []string{"b"}})
	startAll(f)
	if got, want := f.Fail("a"), []string{"c", "d"}; !slices.Equal(got, want) {
		t.Errorf("Fail(a) = %v, want %v", got, want)
	}
	if got, want := f.Fail("b"), []string{"e"}; !slices.Equal(got, want) {
		t.Errorf("Fail(b) = %v, want %v", got, want)
	}
	if cause, ok := f.Cause("d"); !ok || cause != "a" {
		t.Errorf("Cause(d) = %q, %v, want a", cause, ok)
	}
	if _, ok := f.Cause("a"); ok {
		t.Error("Cause(a) is set although a was not skipped")
	}
	if !f.Finished() || f.Count(dag.Skipped) != 3 || f.Count(dag.Failed) != 2 {
		t.Errorf("finished %v, skipped %d, failed %d", f.Finished(), f.Count(dag.Skipped), f.Count(dag.Failed))
	}
}

func TestNewFrontierRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		nodes  []node
		limits map[string]int
		want   string
	}{
		"twice":   {[]node{{Key: "a"}, {Key: "a"}}, nil, "a is there twice"},
		"unknown": {[]node{{Key: "a", Needs: []string{"b"}}}, nil, "a needs b, which is not there"},
		"cycle":   {[]node{{Key: "a", Needs: []string{"b"}}, {Key: "b", Needs: []string{"a"}}}, nil, "a → b → a"},
		"limit":   {nil, map[string]int{"drain": 0}, "cannot walk with limit drain of 0: it must be at least 1"},
	} {
		_, err := dag.NewFrontier(c.nodes, c.limits)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error = %v, want one with %q", name, err, c.want)
		}
	}
}

func TestDoneOfNodeThatDoesNotRunPanics(t *testing.T) {
	t.Parallel()
	f := frontier(t, nil, node{Key: "a"})
	defer func() {
		if v := recover(); v != "internal error: a is not running" {
			t.Errorf("panicked with %v", v)
		}
	}()
	f.Done("a")
}

func TestStatusNames(t *testing.T) {
	t.Parallel()
	want := []string{"pending", "ready", "running", "done", "failed", "skipped"}
	for s, name := range want {
		if got := dag.Status(s).String(); got != name {
			t.Errorf("Status(%d) = %s, want %s", s, got, name)
		}
	}
}

// walk is a random graph and what a walk of it has done so far.
type walk struct {
	nodes   []dag.Node[int]
	limits  map[string]int
	f       *dag.Frontier[int]
	running []int
	done    map[int]bool
	started map[int]bool
}

func drawWalk(t *rapid.T) *walk {
	w := &walk{limits: map[string]int{"one": 1, "two": 2}, done: map[int]bool{}, started: map[int]bool{}}
	for i := range rapid.IntRange(0, 12).Draw(t, "nodes") {
		n := dag.Node[int]{Key: i, Weight: float64(rapid.IntRange(0, 5).Draw(t, "weight"))}
		if i > 0 {
			n.Needs = rapid.SliceOfNDistinct(rapid.IntRange(0, i-1), 0, min(i, 3), rapid.ID[int]).Draw(t, "needs")
		}
		n.Limits = rapid.SliceOfN(rapid.SampledFrom([]string{"one", "two"}), 0, 2).Draw(t, "limits")
		w.nodes = append(w.nodes, n)
	}
	f, err := dag.NewFrontier(w.nodes, w.limits)
	if err != nil {
		t.Fatal(err)
	}
	w.f = f
	return w
}

func (w *walk) start(t *rapid.T, key int) {
	if w.started[key] {
		t.Fatalf("%d started twice", key)
	}
	w.started[key] = true
	w.running = append(w.running, key)
	for _, need := range w.nodes[key].Needs {
		if !w.done[need] {
			t.Fatalf("%d started before %d was done", key, need)
		}
	}
	for name, limit := range w.limits {
		n := 0
		for _, r := range w.running {
			if slices.Contains(w.nodes[r].Limits, name) {
				n++
			}
		}
		if n > limit {
			t.Fatalf("%d run with limit %s of %d", n, name, limit)
		}
	}
}

// checkEnd checks that a node is done, failed, or depends on a failed node, which is its cause.
func (w *walk) checkEnd(t *rapid.T) {
	for _, n := range w.nodes {
		cause, skipped := w.f.Cause(n.Key)
		hindered := slices.ContainsFunc(n.Needs, func(k int) bool { return w.f.Status(k) == dag.Failed || w.f.Status(k) == dag.Skipped })
		if skipped != hindered || skipped == w.started[n.Key] {
			t.Fatalf("%d: skipped %v, started %v, hindered %v", n.Key, skipped, w.started[n.Key], hindered)
		}
		if skipped && w.f.Status(cause) != dag.Failed {
			t.Fatalf("%d was skipped because of %d, which is %s", n.Key, cause, w.f.Status(cause))
		}
	}
}

func TestFrontierWalkProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := drawWalk(t)
		for !w.f.Finished() {
			key, ok := w.f.Next()
			if ok {
				w.start(t, key)
			}
			if len(w.running) == 0 {
				t.Fatal("nothing runs and the walk is not finished")
			}
			if ok && rapid.Bool().Draw(t, "keep starting") {
				continue
			}
			at := rapid.IntRange(0, len(w.running)-1).Draw(t, "which ends")
			ended := w.running[at]
			w.running = slices.Delete(w.running, at, at+1)
			if rapid.IntRange(0, 4).Draw(t, "fails") == 0 {
				w.f.Fail(ended)
				continue
			}
			w.done[ended] = true
			w.f.Done(ended)
		}
		w.checkEnd(t)
	})
}

package dag_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kubewright/kubewright/planner/dag"
)

func TestOrderBreaksTiesByInsertion(t *testing.T) {
	t.Parallel()
	var g dag.Graph[string]
	for _, k := range []string{"z", "a", "m", "b"} {
		g.Add(k)
	}
	g.Connect("z", "b")
	g.Connect("z", "b")
	g.Connect("m", "a")
	got, err := g.Order()
	if want := []string{"a", "m", "b", "z"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("Order() = %v, %v, want %v", got, err, want)
	}
	if got := g.Needs("z"); !slices.Equal(got, []string{"b"}) {
		t.Errorf("Needs(z) = %v, want [b]", got)
	}
	if got := g.Needs("unknown"); got != nil {
		t.Errorf("Needs(unknown) = %v, want none", got)
	}
}

func TestCycleNamesThePath(t *testing.T) {
	t.Parallel()
	var g dag.Graph[string]
	g.Add("start")
	g.Connect("start", "a")
	g.Connect("a", "b")
	g.Connect("b", "c")
	g.Connect("c", "a")
	_, err := g.Order()
	cycle := (*dag.CycleError)(nil)
	if !errors.As(err, &cycle) {
		t.Fatalf("Order() error = %v, want a CycleError", err)
	}
	if want := "cannot order: these need each other: a → b → c → a"; err.Error() != want {
		t.Errorf("error = %q, want %q", err, want)
	}
}

func TestSelfNeedIsACycle(t *testing.T) {
	t.Parallel()
	var g dag.Graph[int]
	g.Connect(7, 7)
	if _, err := g.Order(); err == nil || err.Error() != "cannot order: these need each other: 7 → 7" {
		t.Errorf("error = %v", err)
	}
}

// TestOrderProperty checks that Order either respects every need, or reports a real cycle.
func TestOrderProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "nodes")
		var g dag.Graph[int]
		for i := range n {
			g.Add(i)
		}
		for range rapid.IntRange(0, 14).Draw(t, "edges") {
			g.Connect(rapid.IntRange(0, n-1).Draw(t, "node"), rapid.IntRange(0, n-1).Draw(t, "need"))
		}
		order, err := g.Order()
		if err != nil {
			checkCycle(t, &g, err)
			return
		}
		for at, key := range order {
			for _, need := range g.Needs(key) {
				if slices.Index(order, need) >= at {
					t.Fatalf("%d comes before %d, which it needs, in %v", key, need, order)
				}
			}
		}
	})
}

func checkCycle(t *rapid.T, g *dag.Graph[int], err error) {
	cycle := (*dag.CycleError)(nil)
	if !errors.As(err, &cycle) {
		t.Fatalf("error %v is not a CycleError", err)
	}
	for i := range len(cycle.Path) - 1 {
		var key int
		if _, err := fmt.Sscan(cycle.Path[i], &key); err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(g.Needs(key), func(n int) bool { return fmt.Sprint(n) == cycle.Path[i+1] }) {
			t.Fatalf("%s does not need %s in %v", cycle.Path[i], cycle.Path[i+1], cycle.Path)
		}
	}
	if cycle.Path[0] != cycle.Path[len(cycle.Path)-1] || len(cycle.Path) < 2 {
		t.Fatalf("%v is not closed", cycle.Path)
	}
}

package ownership_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/ownership"
	"github.com/kubewright/kubewright/planner/topology"
	tt "github.com/kubewright/kubewright/planner/topology/topologytest"
	"github.com/kubewright/kubewright/state"
)

// TestMovesFollowsRenamings checks which renamings moved blocks cause, in which order, and which are
// refused.
func TestMovesFollowsRenamings(t *testing.T) {
	t.Parallel()
	node, pool := state.NodeTarget, state.NodeKeyTarget
	move := func(from, to state.Target) config.Move { return config.Move{From: from, To: to} }
	for _, c := range []struct {
		name     string
		recorded []state.Target
		declared []state.Target
		moves    []config.Move
		want     string
		refused  [][]string
	}{
		{"nothing moves", []state.Target{node("a")}, []state.Target{node("a")}, nil, "", nil},
		{"a node", []state.Target{node("a")}, []state.Target{node("b")}, []config.Move{move(node("a"), node("b"))}, "node.a>node.b", nil},
		{"a node that was moved before", []state.Target{node("b")}, []state.Target{node("b")}, []config.Move{move(node("a"), node("b"))}, "", nil},
		{"over two blocks", []state.Target{node("a")}, []state.Target{node("c")}, []config.Move{move(node("a"), node("b")), move(node("b"), node("c"))}, "node.a>node.c", nil},
		{"one into the former name of another", []state.Target{node("a"), node("b")}, []state.Target{node("b"), node("c")}, []config.Move{move(node("a"), node("b")), move(node("b"), node("c"))}, "node.b>node.c node.a>node.b", nil},
		{"a node into a block with keys", []state.Target{node("a")}, []state.Target{pool("p", "a")}, []config.Move{move(node("a"), pool("p", "a"))}, `node.a>node.p["a"]`, nil},
		{"all keys of a block", []state.Target{pool("p", "a"), pool("p", "b")}, []state.Target{pool("q", "a"), pool("q", "b")}, []config.Move{move(node("p"), node("q"))}, `node.p["a"]>node.q["a"] node.p["b"]>node.q["b"]`, nil},
		{"a node onto another one", []state.Target{node("a"), node("b")}, []state.Target{node("b")}, []config.Move{move(node("a"), node("b"))}, "node.a>node.b", [][]string{{"error: Moved onto an existing target", "The state records both node.a and node.b"}}},
		{"a key that is still declared", []state.Target{pool("p", "a")}, []state.Target{pool("p", "a"), pool("q", "a")}, []config.Move{move(node("p"), node("q"))}, `node.p["a"]>node.q["a"]`, [][]string{{"error: Moved object still exists", `node.p["a"] is still declared`}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg, recorded := &config.Config{Moves: c.moves}, &state.State{Nodes: map[state.Target]*state.RecordedNode{}}
			for _, target := range c.recorded {
				recorded.Nodes[target] = &state.RecordedNode{Cluster: tt.Label}
			}
			for _, target := range c.declared {
				cfg.Nodes = append(cfg.Nodes, &config.Node{Target: target, Cluster: tt.Label})
			}
			moves, diags := ownership.Moves(cfg, recorded)
			var got []string
			for _, m := range moves {
				got = append(got, m.From.String()+">"+m.To.String())
			}
			if text := strings.Join(got, " "); text != c.want {
				t.Errorf("got %q, want %q", text, c.want)
			}
			wantFindings(t, diags, c.refused...)
		})
	}
}

// TestMovesBetweenClusters checks that a renamed cluster takes its nodes along, and that a node does
// not change its cluster.
func TestMovesBetweenClusters(t *testing.T) {
	t.Parallel()
	recorded := &state.State{
		Clusters: map[string]*state.RecordedCluster{"old": {CA: "ca-1"}},
		Nodes:    map[state.Target]*state.RecordedNode{state.NodeTarget("a"): {Cluster: "old"}},
	}
	for _, c := range []struct {
		name    string
		moves   []config.Move
		refused [][]string
	}{
		{"with its cluster", []config.Move{{From: state.ClusterTarget("old"), To: state.ClusterTarget("new")}, {From: state.NodeTarget("a"), To: state.NodeTarget("b")}}, nil},
		{"alone", []config.Move{{From: state.NodeTarget("a"), To: state.NodeTarget("b")}}, [][]string{
			{"error: Moved into another cluster", `node.a is a node of cluster "old", and node.b is declared for cluster "new"`},
		}},
	} {
		cfg := &config.Config{Moves: c.moves, Nodes: []*config.Node{{Target: state.NodeTarget("b"), Cluster: "new"}}}
		moves, diags := ownership.Moves(cfg, recorded)
		if len(moves) != len(c.moves) {
			t.Errorf("%s: got %v, want %d moves", c.name, moves, len(c.moves))
		}
		wantFindings(t, diags, c.refused...)
	}
}

// TestSettledRecordsNames checks what a plan records before its first step.
func TestSettledRecordsNames(t *testing.T) {
	t.Parallel()
	moved := []state.Moved{{From: tt.W(9), To: tt.W(2)}}
	imported := map[state.Target]*state.RecordedNode{tt.W(2): {Name: "w2"}}
	v := tt.Running(1, 2, tt.Without(tt.W(1)), func(v *topology.Fleet) {
		v.Config.Removals = []config.Removal{{From: tt.W(1)}}
		v.Moved, v.Imported = moved, state.Learned{Nodes: imported}
	})
	for _, c := range []struct {
		name     string
		plan     planner.Plan
		left     []state.Target
		imported int
	}{
		{"a plan", planner.Plan{Resources: []planner.ResourceChange{{Target: tt.W(1), Action: planner.Forget}}}, []state.Target{tt.W(1)}, 1},
		{"a plan that leaves the target out", planner.Plan{Resources: []planner.ResourceChange{{Target: tt.W(1), Action: planner.NoOp}}}, nil, 1},
		{"a refresh-only plan", planner.Plan{RefreshOnly: true}, nil, 0},
	} {
		got := ownership.Settled(v, &c.plan)
		if !slices.Equal(got.Left, c.left) || len(got.Nodes) != c.imported || !slices.Equal(got.Moved, moved) {
			t.Errorf("%s: got left %v, %d imported, moved %v; want left %v, %d imported, moved %v", c.name, got.Left, len(got.Nodes), got.Moved, c.left, c.imported, moved)
		}
	}
}

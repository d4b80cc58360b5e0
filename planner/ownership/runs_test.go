package ownership_test

import (
	"maps"
	"testing"

	"github.com/kubewright/kubewright/planner/ownership"
	"github.com/kubewright/kubewright/planner/topology"
	tt "github.com/kubewright/kubewright/planner/topology/topologytest"
	"github.com/kubewright/kubewright/state"
)

// reported makes hosts report run tokens.
func reported(tokens map[state.Target]int64) tt.Change {
	return func(v *topology.Fleet) {
		for t, token := range tokens {
			v.Reports[t].Marks.Token = token
		}
	}
}

// TestCheckRunsFindsOlderStates checks that a state is refused that lacks runs which its hosts have
// seen, and which number the next run has.
func TestCheckRunsFindsOlderStates(t *testing.T) {
	t.Parallel()
	type tokens = map[state.Target]int64
	lease := func(token int64) tt.Change {
		return func(v *topology.Fleet) {
			v.ClusterReports[tt.Label].Lease = &state.RunLease{Lineage: v.Recorded.Lineage, Token: token}
		}
	}
	for _, c := range []struct {
		name    string
		state   int64
		changes []tt.Change
		want    [][]string
		next    int64
		void    tokens
	}{
		{"the last run", 1, nil, nil, 2, nil},
		{"a state that is ahead of its hosts", 7, nil, nil, 8, nil},
		{"a control plane has seen a later run", 1, []tt.Change{reported(tokens{tt.CP(1): 3})}, [][]string{
			{"error: State is older than its hosts", `The state is of run 1, but hosts have seen run 3 of this state: node.cp["cp1"] (10.0.0.11): run 3`, "⟨recover⟩", "⟨+older-state⟩"},
		}, 4, nil},
		{"most workers have seen a later run", 1, []tt.Change{reported(tokens{tt.W(1): 3, tt.W(2): 3, tt.W(3): 3})}, [][]string{
			{"error: State is older than its hosts", "hosts have seen run 3", `node.worker["w1"] (10.0.1.11): run 3`},
		}, 4, nil},
		{"the operator accepts an older state", 1, []tt.Change{reported(tokens{tt.CP(1): 3}), func(v *topology.Fleet) { v.AllowOlderState = true }}, [][]string{
			{"warning: State is older than its hosts", "The plan continues because of ⟨+older-state⟩"},
		}, 4, nil},
		{"the last run was interrupted", 1, []tt.Change{reported(tokens{tt.CP(1): 2}), lease(2)}, [][]string{{"warning: Last run was interrupted", "The cluster still has the lease of that run"}}, 3, nil},
		{"two runs are missing and the last one was interrupted", 1, []tt.Change{reported(tokens{tt.CP(1): 3}), lease(3)}, [][]string{{"error: State is older than its hosts"}}, 4, nil},
		{"the lease of another state", 1, []tt.Change{reported(tokens{tt.CP(1): 2}), lease(2), func(v *topology.Fleet) { v.ClusterReports[tt.Label].Lease.Lineage = "l2" }}, [][]string{
			{"error: State is older than its hosts"},
		}, 3, nil},
		{"one worker has seen a later run", 1, []tt.Change{reported(tokens{tt.W(1): 5})}, [][]string{{"warning: Only workers report a later run", `node.worker["w1"] (10.0.1.11): run 5`, "The next run is number 6."}}, 6, nil},
		{"a worker reports a number that no run has", 1, []tt.Change{reported(tokens{tt.W(1): 5000})}, [][]string{
			{"warning: Run token is invalid", "The next run is number 2.", `node.worker["w1"] (10.0.1.11): run 5000`, "/var/lib/kubewright/token"},
		}, 2, tokens{tt.W(1): 5000}},
		{"a host of another state", 1, []tt.Change{reported(tokens{tt.CP(1): 9}), marked(tt.CP(1), func(m *state.Marks) { m.Lineage = "l2" })}, nil, 2, nil},
		{"a host whose marks cannot be read", 1, []tt.Change{reported(tokens{tt.CP(1): 9}), marked(tt.CP(1), func(m *state.Marks) { m.Unreadable = "no JSON" })}, nil, 2, nil},
		{"the state has recorded an impossible number", state.MaxRunToken + 1, nil, [][]string{{"warning: Run token is invalid", "The state has the run token 1000000000000000", "The next run is number 2"}}, 2, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := tt.Running(1, 3, append([]tt.Change{func(v *topology.Fleet) { v.Recorded.RunToken = c.state }}, c.changes...)...)
			wantFindings(t, ownership.CheckRuns(v), c.want...)
			if got := ownership.NextRun(v); got != c.next {
				t.Errorf("next run: got %d, want %d", got, c.next)
			}
			if got := ownership.VoidRuns(v); !maps.Equal(got, c.void) {
				t.Errorf("invalid tokens: got %v, want %v", got, c.void)
			}
		})
	}
}

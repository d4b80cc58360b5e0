package ownership_test

import (
	"testing"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/ownership"
	"github.com/kubewright/kubewright/planner/resolve"
	"github.com/kubewright/kubewright/planner/topology"
	tt "github.com/kubewright/kubewright/planner/topology/topologytest"
	"github.com/kubewright/kubewright/state"
)

// TestFlagsThatExcludeWorker checks which flags leave a worker out of a plan.
func TestFlagsThatExcludeWorker(t *testing.T) {
	t.Parallel()
	sel := func(t state.Target) []planner.Selector { return []planner.Selector{{Target: t}} }
	unreachable := func(v *topology.Fleet) { v.AllowUnreachable = true }
	for _, c := range []struct {
		name    string
		target  state.Target
		options planner.Options
		changes []tt.Change
		want    remedy.Kind
	}{
		{"no flag", tt.W(1), planner.Options{}, nil, ""},
		{"it is excluded", tt.W(1), planner.Options{Excludes: sel(tt.W(1))}, nil, remedy.Except},
		{"its whole block is excluded", tt.W(1), planner.Options{Excludes: sel(state.NodeTarget("worker"))}, nil, remedy.Except},
		{"another one is excluded", tt.W(1), planner.Options{Excludes: sel(tt.W(2))}, nil, ""},
		{"one of its phases is excluded", tt.W(1), planner.Options{Excludes: []planner.Selector{{Target: tt.W(1), Phase: topology.ImagesPhase}}}, nil, ""},
		{"only another one is a target", tt.W(1), planner.Options{Targets: sel(tt.W(2))}, nil, remedy.Only},
		{"it is a target", tt.W(1), planner.Options{Targets: sel(tt.W(1))}, nil, ""},
		{"a phase of all nodes is a target", tt.W(1), planner.Options{Targets: []planner.Selector{{Phase: topology.ImagesPhase}}}, nil, ""},
		{"unreachable hosts are allowed", tt.W(1), planner.Options{}, []tt.Change{unreachable}, remedy.WithoutSilent},
		{"it is replaced", tt.W(1), planner.Options{}, []tt.Change{unreachable, replaces(tt.W(1))}, ""},
		{"a control plane", tt.CP(1), planner.Options{Excludes: sel(tt.CP(1))}, []tt.Change{unreachable}, ""},
		{"a worker that is recorded as a control plane", tt.W(1), planner.Options{Excludes: sel(tt.W(1))}, []tt.Change{tt.Record(tt.W(1), func(n *state.RecordedNode) { n.Role = "control-plane" })}, ""},
		{"a worker that is removed", tt.W(1), planner.Options{}, []tt.Change{unreachable, tt.Without(tt.W(1))}, remedy.WithoutSilent},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := ownership.LeavesOutWorker(tt.Running(1, 2, c.changes...), c.target, c.options); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestLeaveOutOfDistrustsWorkers checks that a worker that is left out counts as a host that was not
// observed, and that others stay.
func TestLeaveOutOfDistrustsWorkers(t *testing.T) {
	t.Parallel()
	foreign := func(m *state.Marks) { m.Lineage = "l2" }
	v := tt.Running(1, 3, marked(tt.W(1), foreign), marked(tt.W(2), foreign), marked(tt.CP(1), foreign))
	before := v.Reports
	v, got := ownership.LeaveOutOf(v, func(v *topology.Fleet) diag.Diagnostics {
		return ownership.CheckOwner(resolve.NewFleet(v).Clusters[0])
	}, func(_ *topology.Fleet, t state.Target) remedy.Text {
		if t == tt.W(1) {
			return remedy.Textf(", by %s", remedy.Except)
		}
		return ""
	})
	wantFindings(t, got, []string{"warning: Host belongs to another state", `node.worker["w1"] (10.0.1.11) is excluded from this plan, by ⟨+except⟩. Its host is not changed`})
	if u := v.Unobserved[tt.W(1)]; v.Reports[tt.W(1)] != nil || !v.Untrusted[tt.W(1)] || u.Reason != "host belongs to another state" || !u.Answered {
		t.Errorf("w1: got %+v, untrusted %v; want one whose host belongs to another state", u, v.Untrusted[tt.W(1)])
	}
	if v.Reports[tt.W(2)] == nil || v.Reports[tt.CP(1)] == nil || len(v.Untrusted) != 1 {
		t.Errorf("got %v without trust, want only w1", v.Untrusted)
	}
	if before[tt.W(1)] == nil {
		t.Error("the observation itself was changed")
	}
}

// TestLeaveOutOfForeignWorkers checks that a worker of another state is left out while no state is
// here and the control planes are blank.
func TestLeaveOutOfForeignWorkers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		changes []tt.Change
		want    [][]string
	}{
		{"the control plane is blank", []tt.Change{tt.Wiped(tt.CP(1))}, [][]string{{"warning: Host belongs to another state", `node.worker["w1"]`}}},
		{"the control plane is part of a cluster", nil, nil},
	} {
		v := tt.Running(1, 1, append(c.changes, withoutState)...)
		_, got := ownership.LeaveOutOf(v, func(*topology.Fleet) diag.Diagnostics { return nil }, func(*topology.Fleet, state.Target) remedy.Text { return remedy.Textf(", by %s", remedy.Except) })
		t.Log(c.name)
		wantFindings(t, got, c.want...)
	}
}

// TestWaysAroundNamesFlags checks for which findings a plan may continue without the host.
func TestWaysAroundNamesFlags(t *testing.T) {
	t.Parallel()
	foreign := func(m *state.Marks) { m.Lineage = "l2" }
	const flags = `To continue without this host: ⟨+except=node.worker["w1"]⟩, or ⟨+without-silent⟩.`
	for _, c := range []struct {
		name    string
		changes []tt.Change
		offered bool
	}{
		{"a worker of another state", []tt.Change{marked(tt.W(1), foreign)}, true},
		{"a control plane of another state", []tt.Change{marked(tt.CP(1), foreign)}, false},
		{"a worker that has the host of a departing node", []tt.Change{renamed(tt.W(1), tt.W(9))}, false},
	} {
		v := tt.Running(1, 2, c.changes...)
		got := ownership.WaysAround(v, ownership.CheckOwner(v.Clusters[0]))
		if len(got) != 1 {
			t.Fatalf("%s: got %v, want one finding", c.name, got)
		}
		if c.offered {
			wantFindings(t, got, []string{flags})
		} else {
			wantWithout(t, got, "To continue without this host")
		}
	}
}

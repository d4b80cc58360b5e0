package pipeline_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/drain"
	"github.com/kubewright/kubewright/state"
)

// TestMaxUnavailableCountsDownWorkers checks that before a worker is drained, workers of its pool count that are down by
// then or drained for the upgrade. Of six workers, w1 and w2 are upgraded one at a time, and the pool
// of the others two at a time.
func TestMaxUnavailableCountsDownWorkers(t *testing.T) {
	t.Parallel()
	o := paced(t)
	p, err := o.plan()
	o.must(err)
	for i := range p.Steps {
		s, want := &p.Steps[i], false
		if n := o.recorded.Nodes[s.Target]; s.Phase == "drain" && n.Role == "worker" {
			want = true
		}
		if got := slices.Contains(s.Gates, planner.WorkersGate); got != want {
			t.Errorf("%s has the gates %q", s.ID, s.Gates)
		}
	}
	down := func(n *state.NodeReport) { n.Ready = false }
	emptied := func(n *state.NodeReport) {
		n.Unschedulable, n.Annotations = true, map[string]string{planner.CordonAnnotation: "upgrade"}
	}
	closed := func(n *state.NodeReport) { n.Unschedulable = true }
	type change = map[string]func(*state.NodeReport)
	for _, tt := range []struct {
		name, turns string
		now         change
		turn        string
		want        string
	}{
		{"nothing happened", "21", nil, "", ""},
		{"one of the pool is down", "21", change{"22": down}, "", `max_unavailable = "1" allows 1 of the workers to be unavailable at once, and there are already, not Ready or drained for the upgrade: w2. Bring`},
		{"one of the pool is emptied", "21", change{"22": emptied}, "", "for the upgrade: w2. Bring"},
		{"one is cordoned by hand", "21", change{"22": closed}, "", ""},
		{"one of another pool is down", "21", change{"23": down}, "", ""},
		{"a control plane is down", "21", change{"11": down}, "", ""},
		{"it is down itself", "21", change{"21": down, "22": down}, "", ""},
		{"it is emptied itself", "21", change{"21": emptied, "22": down}, "", ""},
		{"one of two", "23", change{"24": down}, "", ""},
		{"one is down, and one about to be emptied", "23", change{"24": down}, "25", "drained for the upgrade: w4, w5. Bring"},
		{"it itself is about to be emptied", "23", change{"24": down}, "23", ""},
		{"two of two", "23", change{"24": down, "25": emptied}, "", `max_unavailable = "50%" allows 2 of the workers to be unavailable at once, and there are already, not Ready or drained for the upgrade: w4, w5. Bring`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			nodes := maps.Clone(o.fleet.ClusterReports["prod"].Nodes)
			for name, change := range tt.now {
				n := nodes["host-10-0-0-"+name]
				change(&n)
				nodes["host-10-0-0-"+name] = n
			}
			turn := map[state.Target]bool{}
			if tt.turn != "" {
				turn[turnDrain(t, o, p, "host-10-0-0-"+tt.turn).Target] = true
			}
			err := drain.CheckMaxUnavailable(o.fleet, turnDrain(t, o, p, "host-10-0-0-"+tt.turns), nodes, turn)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestMaxUnavailableIgnoresJoiningWorker checks that a replaced worker counts until it is Ready, and a new one
// does not.
func TestMaxUnavailableIgnoresJoiningWorker(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		join func(*operator)
		want string
	}{
		"it is replaced": {func(o *operator) { o.replace = []state.Target{o.config.Nodes[2].Target} }, "drained for the upgrade: w2. Bring"},
		"it is new": {func(o *operator) {
			o.edit("10.0.0.22", "reinstall", "install kubelet=1.36.3")
			o.forgetNode(o.config.Nodes[2].Target)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := running(t, 1, 2, "1.35.8")
			o.config.Clusters[0].KubernetesVersion = "1.36.3"
			o.kubelets("1.36.3")
			tt.join(o)
			p, err := o.plan()
			o.must(err)
			nodes := maps.Clone(o.fleet.ClusterReports["prod"].Nodes)
			nodes["host-10-0-0-22"] = state.NodeReport{}
			err = drain.CheckMaxUnavailable(o.fleet, turnDrain(t, o, p, "host-10-0-0-21"), nodes, nil)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// turnDrain returns the step that drains a node.
func turnDrain(t *testing.T, o *operator, p *planner.Plan, name string) *planner.Step {
	t.Helper()
	for i := range p.Steps {
		if s := &p.Steps[i]; s.Phase == "drain" && o.recorded.Nodes[s.Target].Name == name {
			return s
		}
	}
	t.Fatalf("the plan does not drain %s", name)
	return nil
}

package drift_test

import (
	"slices"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/drift"
	"github.com/kubewright/kubewright/planner/topology"
	tt "github.com/kubewright/kubewright/planner/topology/topologytest"
	"github.com/kubewright/kubewright/state"
)

// TestIgnored checks which changes of Nodes and addons are left to others.
func TestIgnored(t *testing.T) {
	t.Parallel()
	update := planner.Change{Address: labels("a").Address, Kind: state.KindNodeObject, Action: planner.Update, Attributes: []planner.AttributeChange{
		{Path: "labels.pool", Before: state.String("b"), After: state.String("a")}, {Path: "labels.zone", After: state.String("z")},
	}}
	create := update
	create.Action = planner.Create
	addon := planner.Change{Address: topology.ItemAddress(state.AddonTarget(tt.Label, "cni"), topology.AddonPhase, "object", "v1/ConfigMap/kube-system/cni"), Kind: state.KindObject, Action: planner.Update}
	owned := recorded(state.Item{Address: addon.Address, Kind: state.KindObject, Attributes: state.Map(nil)})
	has := tt.Cluster(func(c *config.Cluster) { c.Addons = []*config.Addon{{Name: "cni"}} })
	ignores := tt.Cluster(func(c *config.Cluster) {
		c.Lifecycle.IgnoreChanges = []config.Ignored{{Path: []string{"addon", "cni"}}}
	})
	for _, c := range []struct {
		name    string
		changes []tt.Change
		change  planner.Change
		want    string
	}{
		{"nothing is ignored", nil, update, "update w1/w1 labels.pool b>a labels.zone >z"},
		{"a label is ignored", []tt.Change{leaves(tt.W(1), "labels", "pool")}, update, "update w1/w1 labels.zone >z"},
		{"all labels are ignored", []tt.Change{leaves(tt.W(1), "labels")}, update, ""},
		{"a label of another node is ignored", []tt.Change{leaves(tt.W(2), "labels")}, update, "update w1/w1 labels.pool b>a labels.zone >z"},
		{"a Node that is created has all labels", []tt.Change{leaves(tt.W(1), "labels")}, create, "create w1/w1 labels.pool b>a labels.zone >z"},
		{"a node that is not recorded yet has all labels", []tt.Change{leaves(tt.W(1), "labels"), func(v *topology.Fleet) { delete(v.Recorded.Nodes, tt.W(1)) }}, update, "update w1/w1 labels.pool b>a labels.zone >z"},
		{"an addon", []tt.Change{has, owned}, addon, "update cni/v1/ConfigMap/kube-system/cni"},
		{"an addon is ignored", []tt.Change{has, owned, ignores}, addon, ""},
		{"an addon is ignored that does not exist yet", []tt.Change{has, ignores}, addon, "update cni/v1/ConfigMap/kube-system/cni"},
		{"an addon is ignored whose block was removed", []tt.Change{owned, ignores}, addon, "update cni/v1/ConfigMap/kube-system/cni"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := described(drift.Apply([]planner.Change{c.change}, drift.Ignored(tt.Running(1, 2, c.changes...)))); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestAsRemembered checks what the state records of a label that is left to others.
func TestAsRemembered(t *testing.T) {
	t.Parallel()
	old := labels("old")
	for _, c := range []struct {
		name    string
		changes []tt.Change
		have    state.Item
		was     *state.Item
		want    string
	}{
		{"nothing is ignored", nil, labels("b"), &old, "a"},
		{"the wanted value is there", []tt.Change{leaves(tt.W(1), "labels")}, labels("a"), &old, "a"},
		{"another value is there", []tt.Change{leaves(tt.W(1), "labels")}, labels("b"), &old, "old"},
		{"another value is there and none was recorded", []tt.Change{leaves(tt.W(1), "labels")}, labels("b"), nil, ""},
	} {
		got := drift.AsRemembered(tt.Running(1, 1, c.changes...), labels("a"), c.was, &c.have).Attributes.Get("labels.pool").AsString()
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// TestTouched checks which items a begun step may have changed.
func TestTouched(t *testing.T) {
	t.Parallel()
	step := func(t state.Target, phase, waypoint string) state.Address {
		return state.Address{Target: t, Phase: phase, Waypoint: waypoint}
	}
	for _, c := range []struct {
		begun, address state.Address
		want           bool
	}{
		{step(tt.W(1), topology.ImagesPhase, ""), step(tt.W(1), topology.ImagesPhase, ""), true},
		{step(tt.W(1), topology.ImagesPhase, "1.35.8"), step(tt.W(1), topology.ImagesPhase, ""), true},
		{step(tt.W(1), topology.ImagesPhase, ""), step(tt.W(2), topology.ImagesPhase, ""), false},
		{step(tt.W(1), topology.ImagesPhase, ""), step(tt.W(1), topology.PreparePhase, ""), false},
		{step(tt.W(1), topology.ResetPhase, ""), step(tt.W(1), topology.PreparePhase, ""), true},
		{step(tt.W(1), topology.InstallPhase, ""), step(tt.W(1), topology.KubeletStartPhase, ""), true},
		{step(tt.W(1), topology.KubeletStartPhase, ""), step(tt.W(1), topology.MarkWorkerPhase, ""), true},
		{step(tt.W(1), topology.MarkWorkerPhase, ""), step(tt.W(1), topology.KubeletStartPhase, ""), false},
	} {
		if got := drift.Touched([]state.Address{c.begun})(c.address); got != c.want {
			t.Errorf("%s by %s: got %v, want %v", c.address, c.begun, got, c.want)
		}
	}
}

// TestStepsSeenDone checks which begun steps count as confirmed after an observation.
func TestStepsSeenDone(t *testing.T) {
	t.Parallel()
	const step = `node.worker["w1"]/prepare`
	x := file(tt.W(1), topology.PreparePhase, "/etc/x", "0644")
	for _, c := range []struct {
		name      string
		unseen    []string
		due       []state.Address
		forgotten []state.Address
		dark      []state.Unobserved
		want      []string
	}{
		{"everything is as desired", []string{step}, nil, nil, nil, []string{step}},
		{"an item of the step differs", []string{step}, []state.Address{x.Address}, nil, nil, nil},
		{"an item of another step differs", []string{step}, []state.Address{file(tt.W(1), topology.ImagesPhase, "/etc/y", "").Address}, nil, nil, []string{step}},
		{"the item is only forgotten", []string{step}, []state.Address{x.Address}, []state.Address{x.Address}, nil, []string{step}},
		{"the host does not answer", []string{step}, nil, nil, []state.Unobserved{{Target: tt.W(1)}}, nil},
		{"another host does not answer", []string{step}, nil, nil, []state.Unobserved{{Target: tt.W(2)}}, []string{step}},
		{"a text that is no step", []string{"nonsense"}, nil, nil, nil, []string{"nonsense"}},
	} {
		r := topology.Result{Plan: &planner.Plan{Forgotten: c.forgotten}, Observed: &state.Snapshot{Unobserved: c.dark}, Due: map[state.Address]bool{}}
		for _, a := range c.due {
			r.Due[a] = true
		}
		if got := drift.StepsSeenDone(tt.Running(1, 2, unconfirmed(c.unseen...)), r); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// TestIncomplete checks that a difference that an unconfirmed step may have left is not blamed on
// others.
func TestIncomplete(t *testing.T) {
	t.Parallel()
	change := func(t state.Target, reason string) planner.Change {
		return planner.Change{Address: file(t, topology.PreparePhase, "/etc/x", "").Address, Reason: reason}
	}
	v := tt.Running(1, 2, unconfirmed(`node.worker["w1"]/prepare`))
	got := drift.Apply([]planner.Change{change(tt.W(1), planner.ReasonDrift), change(tt.W(1), planner.ReasonConfigured), change(tt.W(2), planner.ReasonDrift)}, drift.Incomplete(v))
	for i, want := range []string{planner.ReasonIncomplete, planner.ReasonConfigured, planner.ReasonDrift} {
		if got[i].Reason != want {
			t.Errorf("%d: got %q, want %q", i, got[i].Reason, want)
		}
	}
}

// TestRefreshReportsDrift checks what a refresh-only plan reports, and what it records afterwards.
func TestRefreshReportsDrift(t *testing.T) {
	t.Parallel()
	x, y, z := file(tt.W(1), topology.PreparePhase, "/etc/x", "0644"), file(tt.W(1), topology.PreparePhase, "/etc/y", "0644"), file(tt.W(2), topology.PreparePhase, "/etc/z", "0644")
	x.Origin = map[string]state.Source{"": {File: "main.hcl", Line: 7}}
	v := tt.Running(1, 2, recorded(x, y, z), unconfirmed(`node.worker["w2"]/prepare`))
	desired, observed := snapshot(x, y, z), snapshot(file(tt.W(1), topology.PreparePhase, "/etc/x", "0600"), file(tt.W(2), topology.PreparePhase, "/etc/z", "0600"))
	r := drift.Refresh(v, planner.Plan{}, desired, observed, planner.Options{})
	if got, want := described(r.Plan.Drift), "update w1//etc/x mode 0644>0600; delete w1//etc/y"; got != want || !r.Plan.RefreshOnly {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := r.Plan.Drift[0].Attributes[0].Origin.String(); got != "main.hcl:7" {
		t.Errorf("origin: got %q, want main.hcl:7", got)
	}
	if got, want := r.Plan.Interrupted, []string{`node.cp["cp1"]`, `node.worker["w2"]/prepare`}; !slices.Equal(got, want) {
		t.Errorf("interrupted: got %v, want %v", got, want)
	}
	if got, want := len(r.Plan.Resources), 4; got != want || r.Plan.Resources[0].Note != "Kubernetes 1.36.3" || r.Plan.Resources[1].Note != "10.0.0.11, control-plane" {
		t.Errorf("got %d resources, want %d: %+v", got, want, r.Plan.Resources)
	}
	l := drift.Refreshed(v, r)
	if len(l.Items) != 1 || l.Items[0].Address != x.Address || l.Items[0].Attributes.Get("mode").AsString() != "0600" {
		t.Errorf("got %+v, want /etc/x as observed", l.Items)
	}
	if !slices.Equal(l.Gone, []state.Address{y.Address}) {
		t.Errorf("gone: got %v, want %s", l.Gone, y.Address)
	}
	if only := drift.Refresh(v, planner.Plan{}, desired, observed, planner.Options{Targets: []planner.Selector{{Target: tt.W(2)}}}); len(only.Plan.Drift) > 0 {
		t.Errorf("got %s of a node that is no target", described(only.Plan.Drift))
	}
}

// TestRefreshedRecordsPartialItems checks that of an item that others share only kubewright's part is
// recorded.
func TestRefreshedRecordsPartialItems(t *testing.T) {
	t.Parallel()
	was, is := labels("a"), labels("b")
	is.Attributes = state.FromGo(map[string]any{"labels": map[string]any{"pool": "b", "other": "x"}})
	v := tt.Running(1, 1, recorded(was))
	r := drift.Refresh(v, planner.Plan{}, snapshot(was), snapshot(is), planner.Options{})
	l := drift.Refreshed(v, r)
	if len(l.Items) != 1 {
		t.Fatalf("got %d items, want 1", len(l.Items))
	}
	if got, want := l.Items[0].Attributes, labels("b").Attributes; !got.Equal(want) {
		t.Errorf("got %v, want %v", got.Go(), want.Go())
	}
}

// TestTraitsBefore checks what identifies recorded clusters and nodes.
func TestTraitsBefore(t *testing.T) {
	t.Parallel()
	v := tt.Running(1, 1, tt.From("1.36.3"), tt.Record(tt.W(1), func(n *state.RecordedNode) { n.Name = "" }))
	for _, c := range []struct {
		target state.Target
		want   map[string]string
	}{
		{state.ClusterTarget(tt.Label), map[string]string{"kubernetes_version": "1.36.3"}},
		{tt.CP(1), map[string]string{"cluster": "prod", "role": "control-plane", "name": "cp1", "address": "10.0.0.11"}},
		{tt.W(1), map[string]string{"cluster": "prod", "role": "worker", "address": "10.0.1.11"}},
		{tt.W(9), nil},
	} {
		got := drift.TraitsBefore(v, c.target)
		for name, value := range c.want {
			if got[name] != value {
				t.Errorf("%s: got %s = %q, want %q", c.target, name, got[name], value)
			}
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: got %v, want %v", c.target, got, c.want)
		}
	}
}

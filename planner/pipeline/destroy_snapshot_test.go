package pipeline_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// lastSnapshot is the step that saves the etcd of a destroyed cluster.
var lastSnapshot = topology.StepAddress(state.ClusterTarget("prod"), topology.SnapshotPhase)

// withoutSnapshot are the options of a destroy that saves nothing.
var withoutSnapshot = planner.Options{SkipPhases: []string{topology.SnapshotPhase}}

// destroys returns the plan of a destroy, which has no error.
func (o *operator) destroys(options planner.Options) *planner.Plan {
	o.t.Helper()
	o.destroy = true
	r, diags := o.planOf(o.observe(), options)
	if diags.HasErrors() {
		o.t.Fatal(printedFindings(diags))
	}
	return r.Plan
}

// wantSaved checks whether there is a last snapshot, and the sentence about it; empty for none.
func wantSaved(t *testing.T, p *planner.Plan, taken bool, text string) {
	t.Helper()
	if (p.Step(lastSnapshot) != nil) != taken {
		t.Errorf("there is a snapshot: %v", !taken)
	}
	if text == "" && len(p.Quorum) == 0 {
		return
	}
	if len(p.Quorum) != 1 || text == "" || !strings.HasPrefix(p.Quorum[0], text) {
		t.Errorf("got  %q\nwant %q", p.Quorum, text)
	}
}

// TestDestroySavesEtcd checks that no host of a cluster is reset before a snapshot of its etcd was taken,
// unless it is not wanted or there is nothing to save; the plan says which.
func TestDestroySavesEtcd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		edit    func(o *operator)
		options planner.Options
		taken   bool
		says    string
	}{
		{"a running cluster", func(*operator) {}, planner.Options{}, true, "a snapshot is fetched to this machine and verified before the hosts of cluster.prod are reset."},
		{"not wanted", func(*operator) {}, withoutSnapshot, false, "no snapshot is taken before the hosts of cluster.prod are reset. What it holds is lost with them."},
		{"the API does not answer", func(o *operator) {
			for _, h := range []string{"10.0.0.11", "10.0.0.12", "10.0.0.13"} {
				o.edit(h, "file /etc/kubernetes/manifests/kube-apiserver.yaml delete")
			}
		}, planner.Options{}, true, "a snapshot is fetched"},
		{"one control plane is off", func(o *operator) {
			o.edit("10.0.0.13", "power off")
			o.allowUnreachable = true
		}, planner.Options{}, true, "a snapshot is fetched"},
		{"no quorum, and not wanted", func(o *operator) {
			o.edit("10.0.0.12", "power off")
			o.edit("10.0.0.13", "power off")
			o.allowUnreachable = true
		}, withoutSnapshot, false, "no snapshot is taken"},
		{"the data was deleted by hand", func(o *operator) {
			for _, h := range []string{"10.0.0.11", "10.0.0.12", "10.0.0.13"} {
				o.edit(h, "file /etc/kubernetes delete", "file /var/lib/etcd delete")
			}
		}, planner.Options{}, false, ""},
		{"the block is gone", func(o *operator) {
			o.config = &config.Config{Removals: []config.Removal{{From: state.ClusterTarget("prod"), Destroy: true}}}
		}, planner.Options{}, true, "a snapshot is fetched to this machine and verified before the hosts of cluster.prod are reset."},
		{"the block is gone, and not wanted", func(o *operator) {
			o.config = &config.Config{Removals: []config.Removal{{From: state.ClusterTarget("prod"), Destroy: true}}}
		}, withoutSnapshot, false, "no snapshot is taken before the hosts of cluster.prod are reset. What it holds is lost with them."},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := founded(t, 3, 1)
			c.edit(o)
			p := o.destroys(c.options)
			wantSaved(t, p, c.taken, c.says)
			for _, s := range p.Steps {
				if s.Phase == topology.ResetPhase && slices.Contains(s.Needs, lastSnapshot) != c.taken {
					t.Errorf("%s needs %v", s.ID, s.Needs)
				}
			}
		})
	}
}

// TestDestroyIsRefusedWithoutSnapshot checks that a cluster whose etcd does not answer is not destroyed
// unasked; the error names the flag that does it.
func TestDestroyIsRefusedWithoutSnapshot(t *testing.T) {
	t.Parallel()
	o := founded(t, 3, 1)
	places(o.config)
	o.edit("10.0.0.12", "power off")
	o.edit("10.0.0.13", "power off")
	o.destroy, o.allowUnreachable = true, true
	_, diags := o.planOf(o.observe(), planner.Options{})
	wantFindings(t, diags, finding{diag.Error, "Last snapshot cannot be taken", "main.hcl:1", "cluster.prod", []string{
		"its etcd does not answer (cannot reach the API through 10.0.0.11: etcd has no leader)", "⟨snapshot prod⟩", "add ⟨+skip-phase=etcd-snapshot⟩",
	}})
	o.destroys(withoutSnapshot)
}

// TestDestroyOfInterruptedBootstrap checks that a cluster that never ran is destroyed without a snapshot.
func TestDestroyOfInterruptedBootstrap(t *testing.T) {
	t.Parallel()
	o := newOperator(t, cluster(1, 0))
	_, err := o.plan()
	o.must(err)
	o.cutAfter(o.config.Nodes[0].Target, topology.CertsPhase)
	wantSaved(t, o.destroys(planner.Options{}), false, "")
}

// TestDestroyOfExternalEtcd checks that an external etcd is neither saved nor destroyed.
func TestDestroyOfExternalEtcd(t *testing.T) {
	t.Parallel()
	o := founded(t, 1, 0)
	o.config.Clusters[0].Etcd.External = &config.ExternalEtcd{Endpoints: []string{"https://10.0.9.1:2379"}}
	wantSaved(t, o.destroys(planner.Options{}), false, "the external etcd of cluster.prod keeps its data: no snapshot is taken.")
}

// TestInterruptedDestroyContinues interrupts a destroy after each of its steps, and twice in a row: the same
// command goes on without a flag, and takes no snapshot of an etcd that it has taken apart.
func TestInterruptedDestroyContinues(t *testing.T) {
	t.Parallel()
	begin := founded(t, 3, 1)
	first := begin.destroys(planner.Options{})
	for _, done := range first.Steps[:len(first.Steps)-1] {
		t.Run(done.ID.String(), func(t *testing.T) {
			t.Parallel()
			o := begin.copy(t)
			o.destroy = true
			_, err := o.plan()
			o.must(err)
			o.cutAfter(done.Target, done.Phase)
			if p, err := o.planShown(); err != nil {
				t.Fatal(err)
			} else if len(p.Steps) > 1 {
				o.cutAfter(p.Steps[0].Target, p.Steps[0].Phase)
			}
			o.must(o.apply())
			if len(o.recorded.Nodes) > 0 {
				t.Errorf("nodes are left: %v", o.recorded.Nodes)
			}
		})
	}
}

// TestDestroyNamesLosses checks that the plan says what ends with the cluster, and that the plan is the same
// when another pod has started since.
func TestDestroyNamesLosses(t *testing.T) {
	t.Parallel()
	o := founded(t, 1, 1)
	o.edit("10.0.0.11", "pod shop/web host-10-0-0-21 emptydir", "pod default/lone host-10-0-0-21 bare", "pod shop/db host-10-0-0-21 local", "claim shop/old host-10-0-0-21")
	lost := func() *planner.Loss { return o.destroys(planner.Options{}).Resources[0].Loses }
	l := lost()
	want := []string{"pv-db-data (shop/db-data, host-10-0-0-21)", "pv-old (shop/old, host-10-0-0-21)"}
	if l == nil || l.Unobserved || l.Pods["shop"] != 2 || !slices.Equal(l.Alone.First, []string{"default/lone"}) || l.EmptyDirs != 1 || !slices.Equal(l.Volumes.First, want) {
		t.Errorf("got %+v", l)
	}
	o.edit("10.0.0.11", "file /etc/kubernetes/manifests/kube-apiserver.yaml delete")
	if l := lost(); l == nil || !l.Unobserved {
		t.Errorf("without the API it loses %+v", l)
	}
}

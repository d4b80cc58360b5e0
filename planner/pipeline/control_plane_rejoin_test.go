package pipeline_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// TestControlPlaneOfOutdatedStateRejoins checks that a removed control plane that an old state still records joins
// as a new member of etcd, even if the apply that joins it is interrupted and the old state is restored
// once more. Every fifth combination is tried, or all with KUBEWRIGHT_LONG set.
func TestControlPlaneOfOutdatedStateRejoins(t *testing.T) {
	t.Parallel()
	tried := every(5)
	for gone := range 3 {
		for _, cut := range []string{"", "prepare", "kubeconfig", "kubelet-start", "etcd", "control-plane"} {
			if !tried() {
				continue
			}
			t.Run(fmt.Sprintf("cp%d cut after %q", gone+1, cut), func(t *testing.T) {
				t.Parallel()
				o := founded(t, 3, 1)
				all, old := o.config.Nodes, o.recorded
				back := all[gone].Target
				o.config.Nodes = slices.Delete(slices.Clone(all), gone, gone+1)
				o.must(o.apply())
				o.config.Nodes, o.recorded, o.allowOlder = all, old, true
				p, err := o.plan()
				o.must(err)
				if len(p.Drift) > 0 {
					t.Errorf("what the state records is drift: %+v", p.Drift[0])
				}
				i := slices.IndexFunc(p.Resources, func(r planner.ResourceChange) bool { return r.Target == back })
				if p.Resources[i].Action != planner.Create {
					t.Errorf("the node does not join as a new one: %+v", p.Resources[i])
				}
				o.wantAdded(p, back)
				if cut != "" {
					o.cutAfter(back, cut)
					o.recorded = old
				}
				o.must(o.apply())
				o.wantNothing()
				o.wantVoters(3)
			})
		}
	}
}

// TestControlPlaneResetByHandRejoins checks the same for a control plane that kubeadm reset has removed from
// etcd, and whose marker and Node still exist.
func TestControlPlaneResetByHandRejoins(t *testing.T) {
	t.Parallel()
	o := founded(t, 3, 1)
	o.removeMember("https://10.0.0.13:2380")
	o.edit("10.0.0.13", "unit kubelet stop", "file /etc/kubernetes delete", "file /var/lib/kubelet delete", "file /var/lib/etcd delete")
	p, err := o.plan()
	o.must(err)
	o.wantAdded(p, o.config.Nodes[2].Target)
	o.must(o.carryOut())
	o.wantNothing()
	o.wantVoters(3)
}

// wantAdded checks that the node's step adds its member to etcd.
func (o *operator) wantAdded(p *planner.Plan, t state.Target) {
	o.t.Helper()
	if s := stepOf(p, t.Key+"/etcd"); s == nil || !planner.ChangesMembers(s) {
		o.t.Errorf("%s is not added to etcd:\n%s", t, describe(p))
	}
}

// wantVoters checks how many members of etcd have a vote.
func (o *operator) wantVoters(want int) {
	o.t.Helper()
	members := slices.DeleteFunc(o.observe().ClusterReports["prod"].Members, func(m state.EtcdMember) bool { return m.Learner || !m.Healthy })
	if len(members) != want {
		o.t.Errorf("etcd has %d healthy voters, want %d: %+v", len(members), want, members)
	}
}

// cutAfter carries out the planned steps up to and including the given one.
func (o *operator) cutAfter(t state.Target, phase string) {
	o.t.Helper()
	done := false
	o.around = func(s *planner.Step) error {
		if done {
			return errCrash
		}
		done = s.Target == t && s.Phase == phase
		return nil
	}
	_ = o.carryOut()
	o.around = nil
	if !done {
		o.t.Fatalf("%s of %s was not carried out", phase, t)
	}
}

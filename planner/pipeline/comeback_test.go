package pipeline_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// TestControlPlaneOfOldState: a control plane that has left, and that an old state still
// knows, joins as a new member of etcd, also when the apply that lets it join is cut
// short and the old state is put back once more. Every fifth combination is tried, with
// KUBEWRIGHT_LONG set all.
func TestControlPlaneOfOldState(t *testing.T) {
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
					t.Errorf("what the state remembers is drift: %+v", p.Drift[0])
				}
				i := slices.IndexFunc(p.Resources, func(r planner.ResourceChange) bool { return r.Target == back })
				if p.Resources[i].Action != planner.Create {
					t.Errorf("the node does not come as a new one: %+v", p.Resources[i])
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

// TestControlPlaneResetByHand: so it is with one that kubeadm reset has taken out of
// etcd, and whose mark and Node are still there.
func TestControlPlaneResetByHand(t *testing.T) {
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

// cutAfter carries out what is planned until a step is done, and no further.
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

package pipeline_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
)

// cutAfterAdding carries out the planned steps until etcd has a new learner, and no further.
func (o *operator) cutAfterAdding() {
	o.t.Helper()
	_, err := o.planShown()
	o.must(err)
	crashed := false
	o.world.OnEffect = func(e sim.Effect) error {
		if crashed = crashed || e.Op == "add_etcd_member" && e.Done; crashed {
			return errCrash
		}
		return nil
	}
	_ = o.carryOut()
	o.world.OnEffect = nil
	members := o.observe().ClusterReports["prod"].Members
	if !crashed || !slices.ContainsFunc(members, func(m state.EtcdMember) bool { return m.Learner }) {
		o.t.Fatalf("no learner was left: %+v", members)
	}
}

// TestEtcdLeftoverLearnerIsPromotedOrRemoved checks that a learner that an apply has left is promoted or removed before another
// one is added, since etcd has one at a time.
func TestEtcdLeftoverLearnerIsPromotedOrRemoved(t *testing.T) {
	t.Parallel()
	for name, without := range map[string]string{"continues": "", "leaves": "cp5"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := founded(t, 3, 1)
			o.config = cluster(5, 1)
			o.leave("cp4")
			o.cutAfterAdding()
			o.config = cluster(5, 1)
			o.leave(without)
			p, err := o.plan()
			o.must(err)
			first := stepOf(p, "cp5/etcd")
			if without != "" {
				first = stepOf(p, "cp5/reset")
			}
			if join := stepOf(p, "cp4/etcd"); first == nil || join == nil || !slices.Contains(join.Needs, first.ID) {
				t.Errorf("cp4 does not wait for cp5:\n%s", describe(p))
			}
			o.must(o.carryOut())
			o.wantNothing()
		})
	}
}

// TestEtcdLearnerJoinContinuesFirst checks that of two unfinished joins the one with the learner continues first,
// even in a plan that gives kubelets another version.
func TestEtcdLearnerJoinContinuesFirst(t *testing.T) {
	t.Parallel()
	o := running(t, 3, 1, "1.36.0")
	o.config = size{5, 1, "1.36.0"}.config()
	o.kubelets("1.36.0")
	o.leave("cp4")
	o.cutAfterAdding()
	o.config = size{5, 1, "1.36.0"}.config()
	o.around = func(s *planner.Step) error {
		if touchesMember(s) {
			return errCrash
		}
		return nil
	}
	_, err := o.plan()
	o.must(err)
	if err := o.carryOut(); err == nil {
		t.Fatal("both have joined")
	}
	o.around = nil
	o.config = size{5, 1, "1.36.3"}.config()
	o.kubelets("1.36.3")
	p, err := o.plan()
	o.must(err)
	first, join := stepOf(p, "cp5/etcd"), stepOf(p, "cp4/etcd")
	if first == nil || join == nil || !waitsFor(p, join, first.ID) {
		t.Errorf("cp4 does not wait for cp5:\n%s", describe(p))
	}
	o.must(o.carryOut())
	o.wantNothing()
}

// TestEtcdUnknownLearnerBlocksJoins checks that no control plane joins beside an unknown learner, which the plan
// reports; another one may leave.
func TestEtcdUnknownLearnerBlocksJoins(t *testing.T) {
	t.Parallel()
	o := founded(t, 3, 0)
	etcd, err := sim.Access{}.Etcd(t.Context(), o.world.Host("10.0.0.11"), []string{providers.Seat{}.EtcdURL()}, "")
	o.must(err)
	o.must(etcd.AddLearner(t.Context(), "https://10.0.0.99:2380"))
	o.wantNothing()
	o.config = places(cluster(4, 0))
	wantFindings(t, o.diagnose(), finding{diag.Error, "Etcd has another learner", "main.hcl:1", "cluster.prod", []string{
		"not started yet (https://10.0.0.99:2380)", "Etcd accepts one learner at a time, so that no other member can join (cp4 joins)", "etcdctl member remove ",
	}})
	o.config = cluster(2, 0)
	o.must(o.apply())
	o.wantNothing()
}

// TestEtcdRestartRefusedUnlessAllMembersAnswer checks that no member restarts while one of five is down, even though a
// majority would hold; when it is back the same command continues.
func TestEtcdRestartRefusedUnlessAllMembersAnswer(t *testing.T) {
	t.Parallel()
	o := founded(t, 5, 0)
	o.world.Watch = true
	o.config.Clusters[0].Etcd.Args = []config.Arg{{Name: "snapshot-count", Value: "20000"}}
	restarted := 0
	o.around = func(s *planner.Step) error {
		if s.Phase == "etcd" {
			if restarted++; restarted == 2 {
				return sim.Edit(o.world, "10.0.0.15", "power off")
			}
		}
		return nil
	}
	if err := o.apply(); err == nil || !strings.Contains(err.Error(), "a member is restarted only while all others answer, and host-10-0-0-15 does not. Bring host-10-0-0-15 back first; a control plane whose host is gone for good") {
		t.Errorf("with cp5 down: %v", err)
	}
	if restarted != 2 {
		t.Errorf("%d steps were begun, want the second to be the last", restarted)
	}
	o.around = nil
	o.must(sim.Edit(o.world, "10.0.0.15", "power on"))
	o.must(o.apply())
	o.wantNothing()
	o.wantHeld()
}

package phases_test

import (
	"slices"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// Nothing is done to a control plane that leaves before a snapshot was fetched;
// a worker leaves without one, and so do all at once.
func TestSnapshotBeforeAMemberLeaves(t *testing.T) {
	t.Parallel()
	o := founded(t, 3, 2)
	all := o.config.Nodes
	snapshot := state.Address{Target: state.ClusterTarget("prod"), Phase: "etcd-snapshot"}
	o.config.Nodes = slices.Delete(slices.Clone(all), 2, 4) // cp3 and w1
	p, err := o.plan()
	o.must(err)
	found := p.Step(snapshot)
	if found == nil {
		t.Fatal("there is no snapshot")
	}
	if found.Action != planner.NoOp || len(found.Needs) > 0 {
		t.Errorf("the snapshot is %+v", found)
	}
	for _, s := range p.Steps {
		waits := slices.Contains(s.Needs, snapshot)
		if want := s.Target.Key == "cp3"; waits != want {
			t.Errorf("%s needs %v", s.ID, s.Needs)
		}
	}
	if _, change, destroy := p.Counts(); change != 0 || destroy != 2 {
		t.Errorf("%d to change, %d to destroy", change, destroy)
	}
	o.config.Nodes = slices.Delete(slices.Clone(all), 3, 4) // w1
	p, err = o.plan()
	o.must(err)
	if p.Step(snapshot) != nil {
		t.Error("a snapshot is fetched for a worker")
	}
	o.config.Nodes, o.destroy = all, true
	p, err = o.plan()
	o.must(err)
	if p.Step(snapshot) != nil {
		t.Error("a snapshot is fetched of a cluster that is destroyed")
	}
}

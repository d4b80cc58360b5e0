package pipeline_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/maintenance"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// TestSnapshotPrecedesMemberRemoval checks that a departing control plane is not touched before a
// snapshot was fetched; a worker leaves without one.
func TestSnapshotPrecedesMemberRemoval(t *testing.T) {
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
}

// TestSnapshotPrecedesRotation checks that a rotation begins after a snapshot. An interrupted one
// continues without another, since the snapshot from its beginning is enough.
func TestSnapshotPrecedesRotation(t *testing.T) {
	t.Parallel()
	snapshot := state.Address{Target: state.ClusterTarget("prod"), Phase: "etcd-snapshot"}
	for name, says := range map[string]string{
		"etcd-ca": "before a CA is rotated.", "front-proxy-ca": "before a CA is rotated.", "service-account": "before a service account key is rotated.",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := founded(t, 3, 1)
			o.rotate = []topology.Rotation{rotationOf(t, name)}
			p, err := o.plan()
			o.must(err)
			if p.Step(snapshot) == nil || !slices.ContainsFunc(p.Quorum, func(s string) bool { return strings.HasSuffix(s, says) }) {
				t.Fatalf("there is no snapshot %s %q", says, p.Quorum)
			}
			for _, s := range p.Steps {
				if s.ID != snapshot && len(s.Needs) == 0 {
					t.Errorf("%s does not wait for the snapshot", s.ID)
				}
			}
			cut := errors.New("the operator's machine is off")
			o.around = func(s *planner.Step) error {
				if s.ID.Waypoint == "reissue" {
					return cut
				}
				return nil
			}
			if err := o.carryOut(); !errors.Is(err, cut) {
				t.Fatal(err)
			}
			o.around, o.rotate = nil, nil
			p, err = o.plan()
			o.must(err)
			if len(p.Rotations) != 1 || p.Step(snapshot) != nil {
				t.Errorf("the rotation continues as %q with the snapshot %v", p.Rotations, p.Step(snapshot))
			}
			o.must(o.carryOut())
		})
	}
}

// TestSnapshotPrecedesDefragmentation checks that nothing is defragmented before a snapshot was fetched,
// unless that is skipped.
func TestSnapshotPrecedesDefragmentation(t *testing.T) {
	t.Parallel()
	o := founded(t, 3, 1)
	snapshot := state.Address{Target: state.ClusterTarget("prod"), Phase: "etcd-snapshot"}
	for _, skipped := range [][]string{nil, {"etcd-snapshot"}} {
		r, diags := maintenance.Defragment(o.observe(), planner.Plan{}, planner.Options{SkipPhases: skipped}, "prod")
		if diags.HasErrors() {
			t.Fatal(printedFindings(diags))
		}
		if found := r.Plan.Step(snapshot) != nil; found != (skipped == nil) || len(r.Plan.Steps) != 4-len(skipped) {
			t.Errorf("with %q skipped there is a snapshot: %v\n%s", skipped, found, describe(r.Plan))
		}
		for i, s := range r.Plan.Steps {
			if i > 0 && !slices.Contains(s.Needs, r.Plan.Steps[i-1].ID) {
				t.Errorf("%s does not wait for %s", s.ID, r.Plan.Steps[i-1].ID)
			}
		}
		if _, change, _ := r.Plan.Counts(); change != 3 {
			t.Errorf("%d to change, want 3", change)
		}
	}
}

package sim_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/providers/snapshots"
)

// TestSnapshotMatchesRealFormat checks that a simulated snapshot is like a real one: complete, with its
// hash, identical for identical data, and cut off by a fault.
func TestSnapshotMatchesRealFormat(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.found(cp1)
	take := func(name string) (snapshots.Digest, error) {
		s, err := r.etcd(cp1).Snapshot(context.Background())
		r.must(err)
		if s.Member != nodeName(cp1) || s.EtcdID == "" || s.Revision < 1 {
			t.Errorf("got %+v", s)
		}
		return snapshots.Write(filepath.Join(t.TempDir(), name), s)
	}
	first, err := take("a")
	r.must(err)
	if again, err := take("b"); err != nil || again != first {
		t.Errorf("got %+v, %v, the first was %+v", again, err, first)
	}
	r.w.Fault(sim.Fault{Op: "etcd.snapshot", Kind: sim.FaultPartial})
	if _, err := take("c"); !errors.Is(err, providers.ErrDisconnected) {
		t.Errorf("cut off: %v", err)
	}
	r.w.Fault(sim.Fault{Op: "etcd.snapshot", Kind: sim.FaultUnreachable})
	if _, err := r.etcd(cp1).Snapshot(context.Background()); !errors.Is(err, providers.ErrUnreachable) {
		t.Errorf("not begun: %v", err)
	}
	if _, err := r.etcd(cp1).Snapshot(context.Background()); err != nil {
		t.Error(err)
	}
}

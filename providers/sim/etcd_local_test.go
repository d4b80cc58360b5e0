package sim_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/kubewright/kubewright/providers"
)

// TestMemberReportsDataWithoutQuorum checks that without a quorum a member that has served before still
// reports its data, unchanged, and that one that was started since does not answer. Both
// hold for etcd 3.6 and 3.7.
func TestMemberReportsDataWithoutQuorum(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t)
	r.found(cp1)
	r.joinControlPlane(cp2, cp1)
	r.joinControlPlane(cp3, cp1)
	e := r.etcd(cp3)
	if _, _, err := e.LocalMembers(ctx); !errors.Is(err, providers.ErrHasLeader) {
		t.Errorf("with a quorum: %v", err)
	}
	r.w.PowerOff(cp1)
	r.w.PowerOff(cp2)
	if _, _, err := e.Members(ctx); !providers.Silent(err) {
		t.Errorf("a linearizable list: %v", err)
	}
	if _, err := e.Snapshot(ctx); !providers.Silent(err) {
		t.Errorf("a snapshot after a linearizable read: %v", err)
	}
	held := func() int64 {
		t.Helper()
		members, id, err := e.LocalMembers(ctx)
		if err != nil || id == "" || len(members) != 3 {
			t.Fatal(members, id, err)
		}
		var revision int64
		for _, m := range members {
			if (m.Revision > 0) != (m.Name == nodeName(cp3)) || m.Healthy || m.Leader {
				t.Errorf("got %+v", m)
			}
			revision = max(revision, m.Revision)
		}
		return revision
	}
	was := held()
	r.w.Advance(time.Minute)
	if is := held(); is != was {
		t.Errorf("without a quorum the revision changed from %d to %d", was, is)
	}
	s, err := e.LocalSnapshot(ctx)
	r.must(err)
	if s.Member != nodeName(cp3) || s.Revision != was {
		t.Errorf("got %+v", s)
	}

	r.w.Reboot(cp3)
	r.w.Advance(time.Minute)
	if _, err := e.Identity(ctx); err == nil {
		t.Error("a member that was started without a quorum reports its identity")
	}
	if _, _, err := e.LocalMembers(ctx); !errors.Is(err, providers.ErrUnreachable) {
		t.Errorf("a member that was started without a quorum: %v", err)
	}
	if _, err := e.LocalSnapshot(ctx); !errors.Is(err, providers.ErrUnreachable) {
		t.Errorf("a snapshot of one that was started without a quorum: %v", err)
	}

	r.w.PowerOn(cp2)
	r.w.Advance(time.Minute)
	if _, _, err := e.Members(ctx); err != nil {
		t.Errorf("two of three: %v", err)
	}
	r.w.PowerOff(cp2)
	if held() <= was {
		t.Error("with a quorum the revision has not increased")
	}
}

//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"
)

// TestMembership takes a cluster of three control planes through changes of
// membership: the first is replaced, then it goes down to the first alone, and
// up again. After each the plan finds nothing to do and pods answer.
func TestMembership(t *testing.T) {
	beside(t, 4*time.Minute)
	s := newSite(t, "members", 3, 1)
	s.logIn()
	before := s.listings()
	s.must("apply", "-auto-approve", "-no-color")
	s.wantCluster()
	all := s.planes
	first := `node.cp["` + all[0].Name + `"]`

	was := s.sh(all[1].Name, memberList)
	r := s.must("apply", "-auto-approve", "-no-color", "-replace="+first)
	t.Logf("the first control plane was replaced within %s", r.took.Round(100*time.Millisecond))
	wantContains(t, r.out, first+" will be replaced, as requested", "1 added", "1 destroyed", "held at")
	s.wantCluster()
	s.wantMembers(3)
	if is := s.sh(all[1].Name, memberList); was == is {
		t.Errorf("the member of the first control plane is the one that it was:\n%s", is)
	}
	s.settled()
	s.wantNoChanges()

	s.planes = all[:1]
	s.configure()
	r = s.must("apply", "-auto-approve", "-no-color")
	t.Logf("two control planes left within %s", r.took.Round(100*time.Millisecond))
	s.wantCluster()
	s.wantMembers(1)
	s.wantNoChanges()

	s.planes = all
	s.configure()
	r = s.must("apply", "-auto-approve", "-no-color")
	t.Logf("two control planes joined within %s", r.took.Round(100*time.Millisecond))
	s.wantCluster()
	s.wantMembers(3)
	s.wantWorkload()
	s.settled()
	s.wantNoChanges()
	s.wantGone(before)
}

// memberList asks etcd for its members on a control plane.
const memberList = `crictl exec "$(crictl ps -q --name '^etcd$')" etcdctl --endpoints=https://127.0.0.1:2379 ` +
	`--cacert=/etc/kubernetes/pki/etcd/ca.crt --cert=/etc/kubernetes/pki/etcd/server.crt --key=/etc/kubernetes/pki/etcd/server.key member list`

// wantMembers wants etcd to have so many members, all voters.
func (s *site) wantMembers(count int) {
	s.t.Helper()
	list := s.sh(s.planes[0].Name, memberList)
	if n := len(strings.Split(list, "\n")); n != count || strings.Contains(list, ", true") {
		s.t.Errorf("etcd has other members than %d voters:\n%s", count, list)
	}
}

//go:build e2e

package e2e

import (
	"encoding/json"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/cmd/lab/internal/lab"
	"github.com/kubewright/kubewright/state"
)

// TestMembership takes a cluster of three control planes through changes of membership: the first
// is replaced, then all others leave, and join again. After each of them the plan has no changes
// and pods answer. While the cluster is created, no output contains any of its keys.
func TestMembership(t *testing.T) {
	begin(t)
	s := newSite(t, "members", 3, 1)
	// With etcd's own times, members on a busy machine elect another leader while a node is drained,
	// and no leadership is left to be handed over.
	s.extra = "  etcd {\n    arg \"heartbeat-interval\" { value = \"500\" }\n    arg \"election-timeout\" { value = \"5000\" }\n  }\n"
	s.configure()
	s.logIn()
	before := s.listings()
	w := s.witness()
	w.founds()
	w.wantNoLeak()
	all := s.planes
	first := `node.cp["` + all[0].Name + `"]`

	was := s.sh(all[1].Name, memberList)
	s.lead(all[0].Name)
	s.wantServing()
	r := s.must("apply", "-auto-approve", "-no-color", "-replace="+first)
	t.Logf("the first control plane was replaced within %s", r.took.Round(100*time.Millisecond))
	wantContains(t, r.out, first+" will be replaced, as requested", "1 added", "1 destroyed", "held at")
	// Which remaining member is first in etcd's list depends on their random IDs.
	if !slices.ContainsFunc(all[1:], func(p lab.Host) bool { return strings.Contains(r.out, "/reset: etcd's leader is "+p.Name+" now") }) {
		t.Errorf("no member became leader in place of %s:\n%s", all[0].Name, r.out)
	}
	s.wantCluster()
	s.wantMembers(3)
	if is := s.sh(all[1].Name, memberList); was == is {
		t.Errorf("the member of the first control plane was not replaced:\n%s", is)
	}
	s.settled()
	s.wantNoChanges()

	s.planes = all[:1]
	s.configure()
	s.wantServing()
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

// wantServing waits until each API server itself reports that it is ready, regardless of its
// kubelet: from then on control planes may leave.
func (s *site) wantServing() {
	s.t.Helper()
	for _, h := range s.planes {
		s.eventually("the API server of "+h.Name+" is ready", func() (string, bool) {
			out := s.sh(h.Name, "kubectl --kubeconfig /etc/kubernetes/admin.conf --server=https://"+net.JoinHostPort(h.Address().String(), "6443")+" get --raw /readyz 2>&1 || true")
			return out, strings.TrimSpace(out) == "ok"
		})
	}
}

// TestFiveControlPlanes grows a cluster from one control plane over three to five, and shrinks it
// to one that did not found it. With three or more, the API accepts writes at all times. One of
// the plans also adds a worker and removes another.
func TestFiveControlPlanes(t *testing.T) {
	begin(t)
	s := newSite(t, "e2efive", 5, 2)
	s.logIn()
	before := s.listings()
	all, workers := s.planes, s.workers
	s.become(all[:1], workers[:1])
	s.applied()
	for _, part := range []struct {
		name            string
		planes, workers []lab.Host
		written         bool
		says            []string
	}{
		{"one to three", all[:3], workers[:1], false, []string{
			"1 member, quorum 1 → cp2 joins: 2, quorum 2 → cp3 joins: 3, quorum 2; held at every step.", "Resources: 2 added,", "0 destroyed.",
		}},
		{"three to five", all, workers[1:], true, []string{
			"3 members, quorum 2 → cp4 joins: 4, quorum 3 → cp5 joins: 5, quorum 3; held at every step.", "Resources: 3 added,", "1 destroyed.",
		}},
		{"five to three", all[2:], workers[1:], true, []string{
			"5 members, quorum 3 →", "leaves: 4, quorum 3 →", "leaves: 3, quorum 2; held at every step.", "Resources: 0 added,", "2 destroyed.",
		}},
		{"three to one", all[2:3], workers[1:], false, []string{
			"leaves: 2, quorum 2 →", "leaves: 1, quorum 1; held at every step.", "Resources: 0 added,", "2 destroyed.",
		}},
	} {
		if !t.Run(part.name, func(t *testing.T) {
			s.within(t, func() {
				if part.written {
					defer s.watchWrites()()
				}
				s.become(part.planes, part.workers)
				wantContains(t, words(s.applied().out), part.says...)
			})
		}) {
			return
		}
	}
	s.wantGone(before)
}

// become changes which hosts are in the configuration.
func (s *site) become(planes, workers []lab.Host) {
	s.t.Helper()
	s.planes, s.workers = planes, workers
	s.configure()
}

// memberList lists etcd's members, on a control plane.
const memberList = `crictl --timeout 30s exec "$(crictl --timeout 30s ps -q --name '^etcd$')" etcdctl --dial-timeout=30s --command-timeout=30s --endpoints=https://127.0.0.1:2379 ` +
	`--cacert=/etc/kubernetes/pki/etcd/ca.crt --cert=/etc/kubernetes/pki/etcd/server.crt --key=/etc/kubernetes/pki/etcd/server.key member list`

// lead makes the member of a control plane the leader of etcd.
func (s *site) lead(name string) {
	s.t.Helper()
	var id, leader string
	for _, m := range s.members() {
		if m.Name == name {
			id = m.ID
		}
		if m.Leader {
			leader = m.Name
		}
	}
	if leader != name {
		s.sh(leader, strings.TrimSuffix(memberList, "member list")+"move-leader "+id)
	}
}

// members returns etcd's members as kubewright reports them: one per control plane.
func (s *site) members() []state.EtcdMember {
	s.t.Helper()
	var told struct{ Members []state.EtcdMember }
	r := s.must("etcd", "status", "-json")
	if err := json.Unmarshal([]byte(r.out[strings.Index(r.out, "{"):]), &told); err != nil || len(told.Members) != len(s.planes) {
		s.t.Fatalf("%v in %s", err, r.out)
	}
	return told.Members
}

// wantMembers checks that etcd has this number of members, all voters.
func (s *site) wantMembers(count int) {
	s.t.Helper()
	list := s.sh(s.planes[0].Name, memberList)
	if n := len(strings.Split(list, "\n")); n != count || strings.Contains(list, ", true") {
		s.t.Errorf("etcd does not have exactly %d voters:\n%s", count, list)
	}
}

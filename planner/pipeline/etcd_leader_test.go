package pipeline_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
)

// restartOfMember is a step that restarts a member of etcd.
type restartOfMember struct {
	peerURL string
	hand    *planner.MoveEtcdLeader
}

// memberRestarts returns the restarts in the present plan. It checks that a leader hands over right
// before its member stops.
func (o *operator) memberRestarts() []restartOfMember {
	t := o.t
	t.Helper()
	p, err := o.plan()
	o.must(err)
	var out []restartOfMember
	for i := range p.Steps {
		ops := p.Steps[i].Operations
		stop := slices.IndexFunc(ops, planner.StopsMember)
		hand := slices.IndexFunc(ops, func(op planner.Operation) bool { _, is := op.(planner.MoveEtcdLeader); return is })
		if hand >= 0 && hand != stop-1 {
			t.Errorf("%s hands over at %d, and the member stops at %d", p.Steps[i].ID, hand, stop)
		}
		if stop < 0 {
			continue
		}
		n := slices.IndexFunc(o.config.Nodes, func(n *config.Node) bool { return n.Target == p.Steps[i].Target })
		r := restartOfMember{peerURL: "https://" + o.config.Nodes[n].Address + ":2380"}
		if hand >= 0 {
			op := ops[hand].(planner.MoveEtcdLeader)
			r.hand = &op
		}
		out = append(out, r)
	}
	return out
}

// TestEtcdLeaderMovesAtMostThreeTimes checks that leadership is handed over at most three times in a plan that restarts
// every member twice, for etcd's new version and for the kubelet's, whichever member leads at its
// beginning.
func TestEtcdLeaderMovesAtMostThreeTimes(t *testing.T) {
	t.Parallel()
	o := running(t, 3, 1, "1.35.8")
	o.config.Clusters[0].KubernetesVersion = "1.36.3"
	o.kubelets("1.36.3")
	restarts := o.memberRestarts()
	if len(restarts) != 6 {
		t.Fatalf("members restart %d times", len(restarts))
	}
	for _, m := range o.fleet.ClusterReports["prod"].Members {
		leader, moved := m.PeerURLs[0], []string{m.Name}
		for _, r := range restarts {
			switch {
			case r.hand == nil || r.hand.PeerURL != r.peerURL || len(r.hand.To) != 2 || slices.Contains(r.hand.To, r.peerURL):
				t.Fatalf("%s hands over by %+v", r.peerURL, r.hand)
			case leader == r.peerURL:
				leader = r.hand.To[0]
				moved = append(moved, leader)
			}
		}
		if len(moved) > 4 {
			t.Errorf("leadership goes %s", strings.Join(moved, " → "))
		}
	}
}

// TestEtcdLeaderStaysWithoutEligibleMember checks that nothing is handed over where no other member can lead.
func TestEtcdLeaderStaysWithoutEligibleMember(t *testing.T) {
	t.Parallel()
	for planes, restarts := range map[int]int{1: 1, 2: 2} {
		o := running(t, planes, 0, "1.36.3")
		c := o.config.Clusters[0]
		c.Upgrade.AllowDowntime = true
		c.Etcd.Args = append(c.Etcd.Args, config.Arg{Name: "snapshot-count", Value: "5000"})
		got := o.memberRestarts()
		if len(got) != restarts {
			t.Fatalf("%d control planes: members restart %d times", planes, len(got))
		}
		for _, r := range got {
			if r.hand != nil {
				t.Errorf("%d control planes: %+v", planes, r.hand)
			}
		}
	}
}

package etcd_test

import (
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner/etcd"
	"github.com/kubewright/kubewright/planner/quorum"
	tt "github.com/kubewright/kubewright/planner/topology/topologytest"
	"github.com/kubewright/kubewright/state"
)

func learner(target state.Target) tt.Change {
	return tt.Members(func(members []state.EtcdMember) []state.EtcdMember {
		for i := range members {
			if members[i].Name == tt.NodeName(target) {
				members[i].Learner = true
			}
		}
		return members
	})
}

// TestMembershipChangeOrder checks the order in which members are added and removed:
// dead ones go first, then one is added before one is removed.
func TestMembershipChangeOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		planes  int
		changes []tt.Change
		want    string
	}{
		{"nothing changes", 3, nil, ""},
		{"one joins", 3, []tt.Change{tt.Joins(tt.CP(3))}, "+cp3"},
		{"two join", 3, []tt.Change{tt.Joins(tt.CP(2)), tt.Joins(tt.CP(3))}, "+cp2 +cp3"},
		{"one is removed", 3, []tt.Change{tt.Without(tt.CP(3))}, "-cp3"},
		{"one joins and one is removed", 4, []tt.Change{tt.Joins(tt.CP(4)), tt.Without(tt.CP(3))}, "+cp4 -cp3"},
		{"one joins and a dead one is removed", 4, []tt.Change{tt.Joins(tt.CP(4)), tt.MemberDown(tt.CP(3)), tt.Without(tt.CP(3))}, "-cp3 +cp4"},
		{"a learner that an apply began to add", 3, []tt.Change{learner(tt.CP(3))}, "+cp3"},
		{"a learner is removed before one joins", 4, []tt.Change{tt.Joins(tt.CP(4)), learner(tt.CP(3)), tt.Without(tt.CP(3))}, "-cp3 +cp4"},
		{"the API is silent", 3, []tt.Change{tt.Joins(tt.CP(3)), tt.SilentAPI()}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := tt.Running(c.planes, 0, c.changes...)
			if got := acts(etcd.MembershipChanges(v.Clusters[0])); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func acts(list []quorum.Act) string {
	var out []string
	for _, a := range list {
		sign := "-"
		if a.Add {
			sign = "+"
		}
		out = append(out, sign+a.Name)
	}
	return strings.Join(out, " ")
}

// TestCheckMembershipRefusesLossOfQuorum checks that no prefix of the changes may leave etcd
// without a majority.
func TestCheckMembershipRefusesLossOfQuorum(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		planes  int
		changes []tt.Change
		refused bool
	}{
		{"nothing changes", 3, nil, false},
		{"one of three is removed", 3, []tt.Change{tt.Without(tt.CP(3))}, false},
		{"one of three is removed while another one is down", 3, []tt.Change{tt.MemberDown(tt.CP(2)), tt.Without(tt.CP(3))}, true},
		{"the one that is down is removed", 3, []tt.Change{tt.MemberDown(tt.CP(3)), tt.Without(tt.CP(3))}, false},
		{"one joins while one of three is down", 4, []tt.Change{tt.Joins(tt.CP(4)), tt.MemberDown(tt.CP(3))}, true},
		{"one of five is removed while another one is down", 5, []tt.Change{tt.MemberDown(tt.CP(2)), tt.Without(tt.CP(5))}, false},
		{"one of two is removed", 2, []tt.Change{tt.Without(tt.CP(2))}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := tt.Running(c.planes, 0, c.changes...)
			if diags := etcd.CheckMembership(v); diags.HasErrors() != c.refused {
				t.Errorf("refused is %v, want %v: %v", diags.HasErrors(), c.refused, diags)
			}
		})
	}
}

// TestUnmanagedVoterThatIsDownIsReported checks that a member that is down and that neither
// configuration nor state know is named, as it costs quorum without anything to repair.
func TestUnmanagedVoterThatIsDownIsReported(t *testing.T) {
	t.Parallel()
	stray := state.EtcdMember{ID: "ff", Name: "stray", PeerURLs: []string{"https://10.9.9.9:2380"}}
	add := tt.Members(func(members []state.EtcdMember) []state.EtcdMember { return append(members, stray) })
	if diags := etcd.LostUnknownVoters(tt.Running(3, 0, add)); len(diags) != 1 || !strings.Contains(diags[0].Detail, "stray") {
		t.Errorf("%v, want one that names the member", diags)
	}
	if diags := etcd.LostUnknownVoters(tt.Running(3, 0, tt.MemberDown(tt.CP(3)))); len(diags) > 0 {
		t.Errorf("got %v for a member of the configuration", diags)
	}
}

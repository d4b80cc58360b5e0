package topologytest_test

import (
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/quorum"
	"github.com/kubewright/kubewright/planner/topology"
	tt "github.com/kubewright/kubewright/planner/topology/topologytest"
	"github.com/kubewright/kubewright/state"
)

// TestRunningClusterHasMembers checks that the nodes of a running cluster are members of it, and that those
// of a blank one are not.
func TestRunningClusterHasMembers(t *testing.T) {
	t.Parallel()
	c := tt.Running(3, 2).Clusters[0]
	for _, n := range c.Nodes {
		if n.Joins() || n.MissingCredentials() != "" || topology.Blank(n.Report) || n.Report.Marks == nil {
			t.Errorf("%s is not a node of the cluster: joins %v, misses %q", n.Target, n.Joins(), n.MissingCredentials())
		}
	}
	if len(c.Report.Members) != 3 || c.Primary != tt.CP(1) || c.Cas[c.CABase()] == "" {
		t.Errorf("%d members, primary %s, CAs %v", len(c.Report.Members), c.Primary, c.Cas)
	}
	for _, n := range tt.Blank(1, 1).Clusters[0].Nodes {
		if !n.Joins() || !topology.Blank(n.Report) {
			t.Errorf("%s is not blank", n.Target)
		}
	}
}

// TestNextControlPlaneIsPrimaryWhenFirstIsDown checks that the next control plane is the primary of a cluster whose first one
// is down.
func TestNextControlPlaneIsPrimaryWhenFirstIsDown(t *testing.T) {
	t.Parallel()
	c := tt.Running(3, 0, tt.Down(tt.CP(1))).Clusters[0]
	if c.Primary != tt.CP(2) || c.Node(tt.CP(1)).Report != nil || c.Report.Members[0].Healthy || !c.Report.Members[1].Healthy {
		t.Errorf("primary %s, members %+v", c.Primary, c.Report.Members)
	}
}

// TestNodeCondition checks each condition of a node against what the API shows of it.
func TestNodeCondition(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change tt.Change
		want   state.NodeCondition
	}{
		"no API":    {tt.SilentAPI(), state.NodeUnknown},
		"no Node":   {func(v *topology.Fleet) { delete(v.ClusterReports[tt.Label].Nodes, "w1") }, state.NodeMissing},
		"ready":     {func(*topology.Fleet) {}, state.NodeReady},
		"not ready": {tt.Node(tt.W(1), func(n *state.NodeReport) { n.Ready = false }), state.NodeNotReady},
		"silent":    {tt.Node(tt.W(1), func(n *state.NodeReport) { n.Ready, n.Silent = false, true }), state.NodeSilent},
	} {
		got := tt.Running(1, 1, c.change).Clusters[0].Node(tt.W(1)).NodeCondition()
		if down := name == "not ready" || name == "silent"; got != c.want || got.IsDown() != down {
			t.Errorf("%s: condition %q, down %v, want %q, down %v", name, got, got.IsDown(), c.want, down)
		}
	}
}

// TestMemberConditionOfControlPlane checks that a member is unknown without an answer of etcd, and where
// etcd is external.
func TestMemberConditionOfControlPlane(t *testing.T) {
	t.Parallel()
	external := tt.Cluster(func(c *config.Cluster) { c.Etcd.External = &config.ExternalEtcd{} })
	for name, c := range map[string]struct {
		change tt.Change
		want   quorum.MemberCondition
	}{
		"no API":        {tt.SilentAPI(), quorum.Unknown},
		"external etcd": {external, quorum.Unknown},
		"removed":       {tt.Joins(tt.CP(2)), quorum.Unlisted},
		"down":          {tt.MemberDown(tt.CP(2)), quorum.VoterDown},
		"healthy":       {func(*topology.Fleet) {}, quorum.Voter},
	} {
		if got := tt.Running(3, 0, c.change).Clusters[0].Node(tt.CP(2)).MemberCondition(); got != c.want {
			t.Errorf("%s: condition %d, want %d", name, got, c.want)
		}
	}
}

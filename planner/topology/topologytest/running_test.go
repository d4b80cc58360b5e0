package topologytest_test

import (
	"testing"

	"github.com/kubewright/kubewright/planner/topology"
	tt "github.com/kubewright/kubewright/planner/topology/topologytest"
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

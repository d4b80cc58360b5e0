package preflight_test

import (
	"slices"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/preflight"
	tt "github.com/kubewright/kubewright/planner/topology/topologytest"
	"github.com/kubewright/kubewright/state"
)

// TestPeers checks which ports of other hosts a joining host tries: workers only those of API servers, and
// not where the endpoint is a balancer; the number is bounded.
func TestPeers(t *testing.T) {
	t.Parallel()
	endpoint := func(to string) tt.Change {
		return tt.Cluster(func(c *config.Cluster) { c.ControlPlaneEndpoint = to })
	}
	for _, c := range []struct {
		name   string
		on     state.Target
		change tt.Change
		want   []string
		path   string
	}{
		{"a control plane behind a balancer", tt.CP(1), endpoint("api.example.com:6443"), []string{"10.0.0.12:6443", "10.0.0.12:2380", "10.0.0.12:10250", "10.0.1.11:10250"}, "10.0.0.12"},
		{"with an external etcd", tt.CP(1), tt.Cluster(func(c *config.Cluster) { c.Etcd.External = &config.ExternalEtcd{} }), []string{"10.0.0.12:6443", "10.0.0.12:10250", "10.0.1.11:10250"}, "10.0.0.12"},
		{"a worker behind a balancer", tt.W(1), endpoint("api.example.com:6443"), nil, "10.0.0.11"},
		{"a worker of a control plane's address", tt.W(1), endpoint("10.0.0.11:6443"), []string{"10.0.0.11:6443", "10.0.0.12:6443"}, "10.0.0.11"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n := tt.Blank(2, 1, c.change).Clusters[0].Node(c.on)
			if got := preflight.Peers(n); !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
			if got := preflight.PathTo(n); got != c.path {
				t.Errorf("the path is to %q, want %q", got, c.path)
			}
		})
	}
	if got := preflight.Peers(tt.Blank(3, 40).Clusters[0].Node(tt.CP(1))); len(got) != 16 {
		t.Errorf("%d ports are tried", len(got))
	}
}

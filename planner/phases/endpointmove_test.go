package phases_test

import (
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
)

// TestEndpointMovesWithoutUpgrade wants an upgrade and a move of the endpoint in one
// plan to be refused, and either to go before the other; kubelets alone may take
// another version meanwhile.
func TestEndpointMovesWithoutUpgrade(t *testing.T) {
	t.Parallel()
	const was, moved = "api.example.com:6443", "moved.example.com:6443"
	both := func(t *testing.T) *operator {
		o := running(t, 3, 1, "1.35.8")
		places(o.config)
		o.config.Clusters[0].KubernetesVersion, o.config.Clusters[0].ControlPlaneEndpoint = "1.36.3", moved
		o.kubelets("1.35.8")
		wantSaid(t, o.diagnose(), finding{diag.Error, "Endpoint moves alone", "main.hcl:1", "cluster.prod", []string{
			`Cluster "prod": API servers are called by api.example.com still, and are to be by moved.example.com:6443, while the version changes in the same plan (1.35.8 → 1.36.3). Nothing is changed on any host. `,
			`Do one after the other: the move first, with kubernetes_version = "1.35.8"; or the upgrade first, with control_plane_endpoint as it was.`,
		}})
		return o
	}
	t.Run("the move first", func(t *testing.T) {
		t.Parallel()
		o := both(t)
		o.config.Clusters[0].KubernetesVersion = "1.35.8"
		o.must(o.apply())
		o.config.Clusters[0].KubernetesVersion = "1.36.3"
		o.must(o.apply())
		o.wantNothing()
	})
	t.Run("the upgrade first", func(t *testing.T) {
		t.Parallel()
		o := both(t)
		o.config.Clusters[0].ControlPlaneEndpoint = was
		o.must(o.apply())
		o.config.Clusters[0].ControlPlaneEndpoint = moved
		o.must(o.apply())
		o.wantNothing()
	})
	t.Run("kubelets and others meanwhile", func(t *testing.T) {
		t.Parallel()
		o := running(t, 3, 1, "1.35.8")
		all := o.config.Nodes
		other := *all[2]
		other.Target.Key, other.Address = "cp9", "10.0.0.19"
		o.config.Clusters[0].ControlPlaneEndpoint, o.config.Nodes = moved, []*config.Node{all[0], all[1], &other, all[3]}
		o.kubelets("1.35.9")
		o.world.Watch = true
		o.must(o.apply())
		o.wantNothing()
		o.wantHeld()
	})
	t.Run("kubelets meanwhile", func(t *testing.T) {
		t.Parallel()
		o := running(t, 3, 1, "1.35.8")
		o.config.Clusters[0].ControlPlaneEndpoint = moved
		o.kubelets("1.35.9")
		o.must(o.apply())
		o.wantNothing()
	})
}

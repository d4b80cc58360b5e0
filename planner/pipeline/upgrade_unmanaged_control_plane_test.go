package pipeline_test

import (
	"maps"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
)

// forgets makes a removed block forget a control plane, which continues to run.
func (o *operator) forgets(key string) {
	for _, n := range o.config.Nodes {
		if n.Target.Key == key {
			o.config.Removals = []config.Removal{{From: n.Target}}
		}
	}
	o.leave(key)
}

// serves changes the observed version of a node's API server.
func serves(v *topology.Fleet, node, version string) {
	pods := v.ClusterReports["prod"].StaticPods
	pod := pods["kube-apiserver-"+node]
	pod.Image = "registry.k8s.io/kube-apiserver:v" + version
	pods["kube-apiserver-"+node] = pod
}

// TestUpgradeRefusesUnmanagedOlderControlPlane checks that an upgrade is refused if it would leave an unmanaged control plane in an
// older minor version, until that one has its block back, or has left.
func TestUpgradeRefusesUnmanagedOlderControlPlane(t *testing.T) {
	t.Parallel()
	refused := finding{diag.Error, "Unmanaged control plane would stay behind", kubernetesVersion.String(), "cluster.prod", []string{"Restore the block of each", "kubeadm reset on its host, then kubectl delete node"}}
	const server, member = "kube-apiserver 1.34.9 of node host-10-0-0-13", "etcd 3.6.5 of member host-10-0-0-13 at https://10.0.0.13:2380"
	for name, c := range map[string]struct {
		from, to string
		seen     func(*topology.Fleet)
		want     []finding
	}{
		"over three minor versions": {"1.34.9", "1.37.1", nil, []finding{refused.saying("which would stay behind while the others are upgraded to ", server, member)}},
		"to the next one":           {"1.34.9", "1.35.8", nil, []finding{refused.saying("which would stay behind while the others are upgraded to ", server)}},
		"in its minor version":      {"1.36.1", "1.36.3", nil, nil},
		"its member alone": {"1.34.9", "1.37.1", func(v *topology.Fleet) {
			delete(v.ClusterReports["prod"].StaticPods, "kube-apiserver-host-10-0-0-13")
		}, []finding{refused.saying(member)}},
		"upgraded already": {"1.34.9", "1.35.8", func(v *topology.Fleet) {
			serves(v, "host-10-0-0-13", "1.35.8")
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := running(t, 3, 1, c.from)
			places(o.config)
			o.forgets("cp3")
			o.kubelets(c.to)
			cl := o.config.Clusters[0]
			cl.KubernetesVersion, cl.Origins, cl.Upgrade.AllowDowntime = c.to, maps.Clone(cl.Origins), true
			cl.Origins["kubernetes_version"] = kubernetesVersion
			v := o.observe()
			if c.seen != nil {
				c.seen(v)
			}
			_, diags := o.planOf(v, planner.Options{})
			wantFindings(t, diags, c.want...)
		})
	}
}

// TestUpgradeKeepsKubeletsBehindUnmanagedAPIServer checks that kubelets that are upgraded later do not become newer than
// such an API server either.
func TestUpgradeKeepsKubeletsBehindUnmanagedAPIServer(t *testing.T) {
	t.Parallel()
	o := running(t, 3, 1, "1.35.8")
	o.config.Clusters[0].KubernetesVersion = "1.36.3"
	o.must(o.apply())
	o.forgets("cp3")
	o.kubelets("1.36.3")
	v := o.observe()
	serves(v, "host-10-0-0-13", "1.35.8")
	_, diags := o.planOf(v, planner.Options{})
	wantSaid(t, diags, finding{diag.Error, "Unmanaged control plane would stay behind", "", "cluster.prod", []string{"1.36.3:\n\n  kube-apiserver 1.35.8 of node host-10-0-0-13"}})
}

// TestUpgradeContinuesWithRestoredBlock checks that such a control plane is upgraded like the others once it has its block
// back.
func TestUpgradeContinuesWithRestoredBlock(t *testing.T) {
	t.Parallel()
	o := running(t, 3, 1, "1.35.8")
	nodes := o.config.Nodes
	o.forgets("cp3")
	o.must(o.apply())
	o.config.Nodes, o.config.Removals = nodes, nil
	o.config.Clusters[0].KubernetesVersion = "1.36.3"
	o.kubelets("1.36.3")
	o.world.Watch = true
	o.must(o.apply())
	o.wantNothing()
	o.wantHeld()
}

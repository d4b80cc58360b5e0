package upgrade

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/skew"
	"github.com/kubewright/kubewright/planner/topology"
)

// UnfitForKubelets refuses settings with which kubelets of another minor version than the cluster's
// would not start: feature gates, fields and flags that only the cluster's version supports.
func UnfitForKubelets(c *topology.Cluster) diag.Diagnostics {
	if c.Fleet.Destroy {
		return nil
	}
	var diags diag.Diagnostics
	others := otherKubelets(c)
	for _, version := range slices.SortedFunc(maps.Keys(others), skew.Release.Compare) {
		for _, d := range unfitted(goingThrough(c, version, others[version]...), goingThrough(c, version)) {
			diags = append(diags, unfitForKubelet(c, d, version, others[version]))
		}
	}
	return diags
}

// otherKubelets returns the nodes whose running or coming kubelet has another minor version than
// the cluster, by the first release of that minor version.
func otherKubelets(c *topology.Cluster) map[skew.Release][]*topology.Node {
	out := map[skew.Release][]*topology.Node{}
	want, _ := skew.ParseRelease(c.KubernetesVersion)
	for _, n := range c.Nodes {
		if kubelet, ok := skew.ParseRelease(staticpod.ComingKubelet(n)); ok && staticpod.OfMinor(kubelet) != staticpod.OfMinor(want) {
			out[staticpod.OfMinor(kubelet)] = append(out[staticpod.OfMinor(kubelet)], n)
		}
	}
	return out
}

func unfitForKubelet(c *topology.Cluster, d *diag.Diagnostic, version skew.Release, nodes []*topology.Node) *diag.Diagnostic {
	var of []string
	for _, n := range nodes {
		if d.Address == c.Target.String() || d.Address == n.Target.String() {
			of = append(of, n.Target.String())
		}
	}
	at := cmp.Or(d.Subject, c.Source)
	return diag.Errorf("Configuration does not fit a kubelet", "%s A kubelet of 1.%d is on %s, while the cluster is at %s. "+
		"Upgrade it to %s first, remove this setting, or set it only in the kubelet blocks of other nodes.",
		d.Detail, version.Minor, strings.Join(of, ", "), c.KubernetesVersion, c.KubernetesVersion).At(at).For(c.Target)
}

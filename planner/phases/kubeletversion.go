package phases

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
)

// unfitForKubelets refuses what kubelets of another minor version than the cluster's
// would not start with: gates, fields and flags of theirs that only that knows.
func (c *cluster) unfitForKubelets() diag.Diagnostics {
	if c.view.Destroy {
		return nil
	}
	var diags diag.Diagnostics
	others := c.otherKubelets()
	for _, version := range slices.SortedFunc(maps.Keys(others), planner.Release.Compare) {
		nodes := others[version]
		known := map[string]bool{}
		for _, d := range c.findings(version) {
			known[d.Detail] = true // not of the kubelets
		}
		for _, d := range c.findings(version, nodes...) {
			if d.Severity == diag.Error && !known[d.Detail] {
				diags = append(diags, c.unfitForKubelet(d, version, nodes))
			}
		}
	}
	return diags
}

// otherKubelets are the nodes on which a kubelet runs, or comes to, whose minor version
// is not the cluster's, by the first release of that.
func (c *cluster) otherKubelets() map[planner.Release][]*node {
	out := map[planner.Release][]*node{}
	want, _ := planner.ParseRelease(c.KubernetesVersion)
	for _, n := range c.nodes {
		if kubelet, ok := planner.ParseRelease(n.comingKubelet()); ok && ofMinor(kubelet) != ofMinor(want) {
			out[ofMinor(kubelet)] = append(out[ofMinor(kubelet)], n)
		}
	}
	return out
}

func (c *cluster) unfitForKubelet(d *diag.Diagnostic, version planner.Release, nodes []*node) *diag.Diagnostic {
	var of []string
	for _, n := range nodes {
		if d.Address == c.target.String() || d.Address == n.target.String() {
			of = append(of, n.target.String())
		}
	}
	at := cmp.Or(d.Subject, c.Source)
	return diag.Errorf("Configuration does not fit a kubelet", "%s A kubelet of 1.%d is on %s, while the cluster is at %s. Nothing is changed on any host. "+
		"Bring it to %s first, take this out, or write it only in the kubelet blocks of other nodes.",
		d.Detail, version.Minor, strings.Join(of, ", "), c.KubernetesVersion, c.KubernetesVersion).At(at).For(c.target)
}

package phases

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

// A first member that comes back without its data founds an etcd of its own, and the
// API server beside it serves that: an empty cluster. So each control plane is asked
// of which etcd its own member is, and one that is astray does not speak for the cluster.

// EtcdID is the ID by which the etcd of a cluster goes: the recorded one and, where
// none is, the one that most of its control planes show. Empty when it cannot be told.
func (v *View) EtcdID(label string) string {
	if rec := v.Recorded; rec != nil && rec.Clusters[label] != nil && rec.Clusters[label].EtcdClusterID != "" {
		return rec.Clusters[label].EtcdClusterID
	}
	shown := map[string]int{}
	for _, t := range v.planesOf(label) {
		if e, ok := v.Etcds[t]; ok {
			shown[e.ClusterID]++
		}
	}
	its, most := "", 0
	for id, n := range shown {
		switch {
		case n > most:
			its, most = id, n
		case n == most:
			its = ""
		}
	}
	return its
}

// planesOf are a cluster's control planes of the configuration, and those that only
// the state has.
func (v *View) planesOf(label string) []state.Target {
	var out []state.Target
	for _, n := range v.Config.NodesOf(label, config.ControlPlane) {
		out = append(out, n.Target)
	}
	if v.Recorded == nil {
		return out
	}
	for t, n := range v.Recorded.Nodes {
		if n.Cluster == label && n.Role == string(config.ControlPlane) && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, compareTargets)
	return out
}

// OtherEtcd tells that the etcd on a control plane's own host is known to be another
// one than the cluster's. One that is being made anew of a snapshot is the cluster's.
func (v *View) OtherEtcd(label string, t state.Target) bool {
	e, seen := v.Etcds[t]
	its := v.EtcdID(label)
	if r := v.Reports[t]; !seen || its == "" || r != nil && RestoredFrom(r) != "" {
		return false
	}
	return e.ClusterID != its || v.alone(e, v.planesOf(label))
}

// StrayEtcds are the control planes of a cluster whose own etcd is another one than the
// cluster's. As long as nobody shows the cluster's, nobody is known to be astray.
func (v *View) StrayEtcds(label string) []state.Target {
	var out []state.Target
	known := false
	for _, t := range v.planesOf(label) {
		_, seen := v.Etcds[t]
		switch {
		case v.OtherEtcd(label, t):
			out = append(out, t)
		case seen:
			known = true
		}
	}
	if !known {
		return nil
	}
	return out
}

// AstrayEtcds warns of control planes whose own etcd is not the cluster's.
func AstrayEtcds(v *View, label string) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, t := range v.StrayEtcds(label) {
		diags.Append(diag.Warningf("Etcd of a control plane is another one", "The etcd of %s is %s, and that of cluster %q is %s: a member that came back without its data has founded one of its own, "+
			"which has nothing of the cluster in it. It was not asked. Have the node taken out and joined anew:\n\n  kubewright apply %s",
			t, v.Etcds[t].ClusterID, label, v.EtcdID(label), AsFlags(t, ReplaceFlag)).For(t))
	}
	return diags
}

// alone tells of a member that knows nobody but itself, while another one has it among
// others. The ID does not tell these apart: etcd derives it of the members that found
// it, and so a first member that founds again gets the same.
func (v *View) alone(e state.EtcdIdentity, planes []state.Target) bool {
	return len(e.PeerURLs) == 1 && slices.ContainsFunc(planes, func(t state.Target) bool {
		other := v.Etcds[t]
		return other.ClusterID == e.ClusterID && len(other.PeerURLs) > 1 && slices.Contains(other.PeerURLs, e.PeerURLs[0])
	})
}

// astrayText says of whom the cluster's members are not what ails it; "" of nobody.
func (c *cluster) astrayText() string {
	var out string
	for _, t := range c.view.StrayEtcds(c.Label) {
		out += fmt.Sprintf("The etcd of %s is not the cluster's: it came back without its data, and founded one of its own. Have the node taken out and joined anew:\n\n  kubewright apply %s\n\n", t, AsFlags(t, ReplaceFlag))
	}
	return out
}

// strayEtcds refuses control planes whose own etcd is not the cluster's.
func (c *cluster) strayEtcds() diag.Diagnostics {
	if c.Etcd.External != nil || c.view.Destroy || c.view.restores || c.founding || c.inRestore() {
		return nil
	}
	strays := c.view.StrayEtcds(c.Label)
	var diags diag.Diagnostics
	for _, n := range c.controlPlanes() {
		if slices.Contains(strays, n.target) && !c.view.replaces(n.target) {
			diags = append(diags, n.refuseStrayEtcd(strays))
		}
	}
	if d := c.refuseDivided(); d != nil {
		diags = append(diags, d)
	}
	return diags
}

// refuseStrayEtcd says how the node comes back: from the others where these hold a
// quorum. Where they do not, what they hold may be the last of its kind.
func (n *node) refuseStrayEtcd(strays []state.Target) *diag.Diagnostic {
	c := n.cluster
	its := c.view.EtcdID(c.Label)
	what := fmt.Sprintf("The etcd of %s (%s) is %s, and that of cluster %q is %s", n.target, n.Address, c.view.Etcds[n.target].ClusterID, c.Label, its)
	if c.view.Etcds[n.target].ClusterID == its {
		what = fmt.Sprintf("The etcd of %s (%s) knows no other member than itself, and that of cluster %q has others", n.target, n.Address, c.Label)
	}
	what += ": a member that came back without its data has founded one of its own, which has nothing of the cluster in it. Nothing is changed on any host. "
	again := "have the node taken out and joined anew:\n\n  kubewright apply " + AsFlags(n.target, ReplaceFlag)
	if c.seen != nil && c.seen.EtcdClusterID == its && len(c.seen.Members) > 0 {
		return diag.Errorf(foundedAnew, "%sThe others hold the cluster's data, and a quorum of them answers: %s", what, again).At(n.Source).For(n.target)
	}
	var holders []string
	for t, e := range c.view.Etcds {
		if e.ClusterID == its && !slices.Contains(strays, t) {
			holders = append(holders, t.String())
		}
	}
	return diag.Errorf(foundedAnew, "%sThe cluster's data is on %s still, and no quorum of its members answers: keep that data. If other members are only down, bring them back, and %s\n\n"+
		"If quorum is lost for good, make etcd anew of a snapshot:\n\n  kubewright etcd restore FILE\n\n"+
		"Only if etcd was made anew by hand and on purpose is that data not needed; then clean the hosts that hold it (kubeadm reset), and plan again.",
		what, strings.Join(sorted(holders), ", "), again).At(n.Source).For(n.target)
}

const foundedAnew = "Etcd was founded anew"

// refuseDivided refuses control planes that show several etcds of which nobody can
// tell which is the cluster's: the state does not know it, and no majority shows one.
func (c *cluster) refuseDivided() *diag.Diagnostic {
	if c.view.EtcdID(c.Label) != "" {
		return nil
	}
	var lines []string
	for _, n := range c.controlPlanes() {
		if e, ok := c.view.Etcds[n.target]; ok && !c.view.replaces(n.target) {
			lines = append(lines, fmt.Sprintf("  %s (%s): %s, %s", n.target, n.Address, e.ClusterID, members(len(e.PeerURLs))))
		}
	}
	if len(lines) < 2 {
		return nil
	}
	return diag.Errorf("Control planes have different etcds", "The etcds of cluster %q are not one, and the state does not know which is the cluster's:\n\n%s\n\n"+
		"Nothing is changed on any host. A member that came back without its data has founded one of its own. Find out which has the cluster's data (kubectl on that host shows it), and have the other node taken out and joined anew, with -%s='NODE'.",
		c.Label, strings.Join(lines, "\n"), ReplaceFlag).At(c.Source).For(c.target)
}

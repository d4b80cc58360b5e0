package upgrade

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/etcd"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/skew"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// unmanagedLeftBehind refuses an upgrade while there are unmanaged control planes that would stay
// at an older minor version: they are not upgraded, and the endpoint leads to them as well.
func unmanagedLeftBehind(c *topology.Cluster) diag.Diagnostics {
	if c.Report == nil {
		return nil
	}
	behind := slices.Concat(oldServers(c), oldMembers(c))
	if len(behind) == 0 {
		return nil
	}
	return diag.Diagnostics{diag.Errorf("Unmanaged control plane would stay behind", "Cluster %q has unmanaged control planes, which would stay behind while the others are "+
		"upgraded to %s:\n\n%s\n\nKubelets and kube-proxy must not be newer than any API server behind the endpoint, "+
		"and neither API servers nor members of one etcd may stay at different minor versions. "+
		"Restore the block of each, so that it is upgraded with the others. Or remove it from the cluster first: kubeadm reset on its host, then kubectl delete node.",
		c.Label, comes(c), strings.Join(behind, "\n")).At(pki.Place(c, "kubernetes_version")).For(c.Target)}
}

// comes returns the newest version that API servers or kubelets get.
func comes(c *topology.Cluster) skew.Release {
	if c.Up.Raises {
		return c.Up.Want
	}
	var newest skew.Release
	for _, version := range c.Up.Turns {
		if r, ok := skew.ParseRelease(version); ok && r.Compare(newest) > 0 {
			newest = r
		}
	}
	return newest
}

// oldServers returns the API servers of unmanaged nodes that would stay behind.
func oldServers(c *topology.Cluster) []string {
	var out []string
	for _, name := range c.UnmanagedNodes() {
		r, ok := staticpod.ReleaseOf(c.Report.StaticPods["kube-apiserver-"+name].Image)
		if ok && staticpod.OfMinor(r).Compare(staticpod.OfMinor(comes(c))) < 0 {
			out = append(out, fmt.Sprintf("  kube-apiserver %s of node %s", r, name))
		}
	}
	return out
}

// oldMembers returns the members of etcd that would stay behind.
func oldMembers(c *topology.Cluster) []string {
	want, ok := skew.ParseRelease(kubeadm.EtcdTag(c.ControlPlanes()[0].Input()))
	if !ok || !c.Up.Raises || c.Etcd.External != nil {
		return nil
	}
	var out []string
	for _, m := range c.Report.Members {
		if r, ok := skew.ParseRelease(m.Version); ok && !ours(c, m) && staticpod.OfMinor(r).Compare(staticpod.OfMinor(want)) < 0 {
			out = append(out, fmt.Sprintf("  etcd %s of member %s at %s", r, m.Name, strings.Join(m.PeerURLs, ", ")))
		}
	}
	return out
}

// ours reports whether a member of etcd is known, or has the name of a known control plane.
func ours(c *topology.Cluster, m state.EtcdMember) bool {
	return etcd.IsKnownMember(c, m) || slices.ContainsFunc(c.ControlPlanes(), func(n *topology.Node) bool { return n.NodeName == m.Name })
}

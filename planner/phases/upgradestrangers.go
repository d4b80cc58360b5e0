package phases

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// strangersBehind refuses to raise versions while control planes are there that no block
// speaks of and that would stay in an older minor version: nobody upgrades them, and
// the endpoint leads to them as to the others.
func (c *cluster) strangersBehind() diag.Diagnostics {
	if c.report == nil {
		return nil
	}
	behind := slices.Concat(c.oldServers(), c.oldMembers())
	if len(behind) == 0 {
		return nil
	}
	return diag.Diagnostics{diag.Errorf("Control plane would stay behind", "Cluster %q has control planes that no block speaks of, and that would stay behind while %s comes:\n\n%s\n\n"+
		"Nothing is changed on any host. Kubelets and kube-proxy may not be newer than any API server that the endpoint leads to, and neither API servers nor members of one etcd stay in different minor versions. "+
		"Give each its block back, so that it is upgraded with the others. Or take it out of the cluster first: kubeadm reset on its host, then kubectl delete node.",
		c.Label, c.comes(), strings.Join(behind, "\n")).At(c.place("kubernetes_version")).For(c.target)}
}

// comes is the newest version that API servers or kubelets get.
func (c *cluster) comes() planner.Release {
	if c.up.raises {
		return c.up.want
	}
	var newest planner.Release
	for _, version := range c.up.turns {
		if r, ok := planner.ParseRelease(version); ok && r.Compare(newest) > 0 {
			newest = r
		}
	}
	return newest
}

// oldServers are the API servers that would stay behind: those of neither a node of
// the configuration nor one that leaves.
func (c *cluster) oldServers() []string {
	var out []string
	parting := c.parting()
	for _, name := range c.strangers() {
		r, ok := releaseOf(c.report.StaticPods["kube-apiserver-"+name].Image)
		leaves := slices.ContainsFunc(parting, func(l leaver) bool { return l.Name == name })
		if ok && !leaves && ofMinor(r).Compare(ofMinor(c.comes())) < 0 {
			out = append(out, fmt.Sprintf("  kube-apiserver %s of node %s", r, name))
		}
	}
	return out
}

// oldMembers are the members of etcd that would stay behind.
func (c *cluster) oldMembers() []string {
	want, ok := planner.ParseRelease(kubeadm.EtcdTag(c.controlPlanes()[0].input()))
	if !ok || !c.up.raises || c.Etcd.External != nil {
		return nil
	}
	var out []string
	for _, m := range c.report.Members {
		if r, ok := planner.ParseRelease(m.Version); ok && !c.ours(m) && ofMinor(r).Compare(ofMinor(want)) < 0 {
			out = append(out, fmt.Sprintf("  etcd %s of member %s at %s", r, m.Name, strings.Join(m.PeerURLs, ", ")))
		}
	}
	return out
}

// ours tells that a member of etcd is known, or has the name of a control plane that is.
func (c *cluster) ours(m state.EtcdMember) bool {
	return c.known(m) || slices.ContainsFunc(c.controlPlanes(), func(n *node) bool { return n.name == m.Name })
}

package phases

import (
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/kubeadm"
)

// olderEtcd refuses an image of etcd whose minor is below that of the cluster's etcd.
// Such a server ends with "invalid downgrade; server version is lower than determined
// cluster version" (etcd, server/etcdserver/version), so that an apply would stop at
// the first control plane with one member less. A tag that is no version is the
// operator's own, and where no member answers nobody can tell.
func (v *View) olderEtcd() diag.Diagnostics {
	var diags diag.Diagnostics
	for _, c := range v.clusters {
		if c.Etcd.External != nil || len(c.controlPlanes()) == 0 {
			continue
		}
		tag := kubeadm.EtcdTag(c.controlPlanes()[0].input())
		want, isVersion := planner.ParseRelease(tag)
		runs, seen := c.etcdRuns()
		if !isVersion || !seen || ofMinor(want).Compare(ofMinor(runs)) >= 0 || c.stepsDownTo(want) {
			continue
		}
		diags = append(diags, diag.Errorf("Etcd would be older than its data",
			"Cluster %q: its etcd runs %s, and the configuration gives it the image tag %q. An etcd does not start in a cluster of a newer minor. Nothing is changed on any host. "+
				`Give etcd an image_tag of %d.%d or newer; or have the cluster step down by one minor first, with "etcdctl downgrade enable %d.%d.0" on a control plane, and plan again.`,
			c.Label, runs, tag, runs.Major, runs.Minor, want.Major, want.Minor).At(c.place("etcd.image_tag")).For(c.target))
	}
	return diags
}

// etcdRuns is the oldest version among the members that answer: by it etcd decides
// which version the cluster has. False where none answers.
func (c *cluster) etcdRuns() (oldest planner.Release, seen bool) {
	if c.seen == nil {
		return planner.Release{}, false
	}
	for _, m := range c.seen.Members {
		if r, ok := planner.ParseRelease(m.Version); ok && (!seen || r.Compare(oldest) < 0) {
			oldest, seen = r, true
		}
	}
	return oldest, seen
}

// stepsDownTo tells that etcd was told to step down to the minor of a release.
func (c *cluster) stepsDownTo(want planner.Release) bool {
	for _, m := range c.seen.Members {
		if to, ok := planner.ParseRelease(m.DowngradeTo); ok && ofMinor(to) == ofMinor(want) {
			return true
		}
	}
	return false
}

// ofMinor is a release by its minor alone, which is what etcd compares.
func ofMinor(r planner.Release) planner.Release {
	return planner.Release{Major: r.Major, Minor: r.Minor}
}

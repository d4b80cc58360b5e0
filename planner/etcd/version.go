package etcd

import (
	"slices"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/skew"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// EtcdVersion refuses an etcd that would not start, with the existing data or with its arguments.
func EtcdVersion(v *topology.Fleet) diag.Diagnostics {
	diags := slices.Concat(olderEtcd(v), newerEtcd(v))
	if len(diags) > 0 { // report only one reason per tag
		return diags
	}
	return etcdArgs(v)
}

// olderEtcd refuses an etcd image with an older minor version than the cluster's etcd. Such a
// server exits with "invalid downgrade; server version is lower than determined cluster version"
// (etcd, server/etcdserver/version), so an apply would stop at the first control plane, with one
// member down. A tag that is no version is the operator's responsibility; if no member answers, the
// version is unknown.
func olderEtcd(v *topology.Fleet) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, c := range v.Clusters {
		if c.Etcd.External != nil || len(c.ControlPlanes()) == 0 {
			continue
		}
		tag := staticpod.WantedEtcdTag{Tag: kubeadm.EtcdTag(c.ControlPlanes()[0].Input()), Means: "the configuration sets the image tag", At: pki.Place(c, "etcd.image_tag")}
		for _, tag := range append(staticpod.PatchedEtcdTags(c), tag) {
			if d := older(c, tag); d != nil {
				diags = append(diags, d)
				break
			}
		}
	}
	return diags
}

// older is olderEtcd for one tag.
func older(c *topology.Cluster, tag staticpod.WantedEtcdTag) *diag.Diagnostic {
	want, isVersion := skew.ParseRelease(tag.Tag)
	runs, seen := etcdRuns(c)
	if !isVersion || !seen || staticpod.OfMinor(want).Compare(staticpod.OfMinor(runs)) >= 0 || stepsDownTo(c, want) {
		return nil
	}
	return diag.Errorf("Etcd would be older than its data",
		"Cluster %q: etcd runs %s, and %s %q. Etcd does not start in a cluster of a newer minor version. "+
			`Give etcd an image_tag of %d.%d or newer; or have the cluster step down by one minor first, with "etcdctl downgrade enable %d.%d.0" on a control plane, and plan again.`,
		c.Label, runs, tag.Means, tag.Tag, runs.Major, runs.Minor, want.Major, want.Minor).At(tag.At).For(c.Target)
}

// newerEtcd refuses to skip a minor version of etcd: members work with those of the previous minor
// version, and no older data is supported. When Kubernetes goes through several versions, etcd goes
// through theirs.
func newerEtcd(v *topology.Fleet) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, c := range v.Clusters {
		runs, seen := etcdRuns(c)
		if !seen || c.Etcd.External != nil || len(c.ControlPlanes()) == 0 {
			continue
		}
		at, means := pki.Place(c, "etcd.image_tag"), "the configuration sets the image tag"
		if c.Etcd.ImageTag == "" {
			at, means = pki.Place(c, "kubernetes_version"), "Kubernetes "+c.KubernetesVersion+" uses the image tag"
		}
		from := runs
		tags := etcdTags(c)
		if patched := staticpod.PatchedEtcdTags(c); len(patched) > 0 {
			at, means, tags = patched[0].At, patched[0].Means, []string{patched[0].Tag}
		}
		for _, tag := range tags {
			to, isVersion := skew.ParseRelease(tag)
			if !isVersion || staticpod.OfMinor(to).Compare(staticpod.OfMinor(from)) <= 0 {
				continue
			}
			if next := (skew.Release{Major: from.Major, Minor: from.Minor + 1}); staticpod.OfMinor(to) != next {
				diags = append(diags, diag.Errorf("Etcd upgrade would skip a minor version",
					"Cluster %q: etcd runs %s, and %s %q. Etcd is upgraded by one minor version at a time: "+
						"a version further ahead does not work with the existing members and data. "+
						"Give etcd an image_tag of %d.%d first, apply, and continue from there, one minor version in each apply.",
					c.Label, runs, means, tag, next.Major, next.Minor).At(at).For(c.Target))
				break
			}
			from = to
		}
	}
	return diags
}

// etcdArgs refuses an etcd that does not support the arguments in its manifest. Until Kubernetes
// 1.35 kubeadm passes an etcd before 3.6 the old names; from 1.36 on it writes manifests with which
// such an etcd exits at once.
func etcdArgs(v *topology.Fleet) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, c := range v.Clusters {
		if c.Etcd.External != nil || len(c.ControlPlanes()) == 0 {
			continue
		}
		for _, in := range etcdInputs(c) {
			if !kubeadm.EtcdTakesArgs(in) {
				diags = append(diags, diag.Errorf("Etcd version does not support its arguments",
					"Cluster %q: the configuration gives etcd the image tag %q, but Kubernetes %s passes arguments that etcd supports since 3.6: "+
						"it would not start. Give etcd an image_tag of 3.6 first, with the current version of Kubernetes, and apply that; or leave image_tag out.",
					c.Label, kubeadm.EtcdTag(in), in.Cluster.KubernetesVersion).At(pki.Place(c, "etcd.image_tag")).For(c.Target))
				break
			}
		}
	}
	return diags
}

// etcdTags returns the etcd image tags of the versions that the cluster goes through.
func etcdTags(c *topology.Cluster) []string {
	var tags []string
	for _, in := range etcdInputs(c) {
		tags = append(tags, kubeadm.EtcdTag(in))
	}
	return tags
}

// etcdInputs returns the rendering inputs of etcd in these versions, the desired one last.
func etcdInputs(c *topology.Cluster) []kubeadm.Input {
	wanted := c.ControlPlanes()[0].Input()
	if c.Up == nil {
		return []kubeadm.Input{wanted}
	}
	var out []kubeadm.Input
	for _, hop := range c.Up.Hops {
		in, there := wanted, *wanted.Cluster
		there.KubernetesVersion = hop.String()
		in.Cluster = &there
		out = append(out, in)
	}
	return append(out, wanted)
}

// ReplacesEtcd reports whether a node gets another version of etcd than in its manifest or, if an
// interrupted apply has removed that, in the state. The same tag is the same version, whatever the
// registry; a tag that is no version may be any. A member that etcd does not list yet replaces
// none.
func ReplacesEtcd(b *topology.Builder, n *topology.Node) bool {
	return !n.Joins() && !staticpod.NotAMember(n) && slices.ContainsFunc(b.Changes[topology.StepAddress(n.Target, topology.EtcdPhase)], func(ch planner.Change) bool {
		it := b.Desired.Find(ch.Address)
		if it == nil || it.Kind != state.KindStaticPod {
			return false
		}
		is := it.Attributes.Get("image")
		was := is
		for _, a := range ch.Attributes {
			if a.Path == "image" {
				was = a.Before
			}
		}
		if old := n.Cluster.Fleet.RecordedItems.Find(ch.Address); was.IsNull() && old != nil {
			was = old.Attributes.Get("image")
		}
		before, known := staticpod.ReleaseOf(was.AsString())
		after, _ := staticpod.ReleaseOf(is.AsString())
		return !was.Equal(is) && (!known || before != after)
	})
}

// etcdRuns returns the oldest version among the members that answer, which etcd uses as the cluster
// version; false if none answers.
func etcdRuns(c *topology.Cluster) (oldest skew.Release, seen bool) {
	if c.Seen == nil {
		return skew.Release{}, false
	}
	for _, m := range c.Seen.Members {
		if r, ok := skew.ParseRelease(m.Version); ok && (!seen || r.Compare(oldest) < 0) {
			oldest, seen = r, true
		}
	}
	return oldest, seen
}

// stepsDownTo reports whether an etcd downgrade to the minor version of want is enabled.
func stepsDownTo(c *topology.Cluster, want skew.Release) bool {
	for _, m := range c.Seen.Members {
		if to, ok := skew.ParseRelease(m.DowngradeTo); ok && staticpod.OfMinor(to) == staticpod.OfMinor(want) {
			return true
		}
	}
	return false
}

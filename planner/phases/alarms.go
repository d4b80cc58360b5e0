package phases

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// alarms tells of the alarms of etcd. A plan that does something to a cluster
// whose etcd has one is refused: nothing that the API is asked would be kept.
// What a destroy does needs no etcd.
func (v *View) alarms(p *planner.Plan) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, c := range v.clusters {
		if c.seen == nil || v.Destroy {
			continue
		}
		text := planner.Alarmed(c.seen.Members)
		if text == "" {
			continue
		}
		d := diag.Warningf(alarmed, "Cluster %q: %s", c.Label, text)
		if slices.ContainsFunc(p.Steps, func(s planner.Step) bool { return v.concerns(c, s.Target) }) {
			d = diag.Errorf(alarmed, "Cluster %q: %s\n\nUntil then nothing is changed: what this plan would do needs an etcd that takes writes.", c.Label, text)
		}
		diags = append(diags, d.At(c.Source))
	}
	return diags
}

// lostStrangers tells of voters of etcd that do not answer and are on no node that
// anybody here knows: they count for quorum, and no plan ever takes them out.
func (v *View) lostStrangers() diag.Diagnostics {
	var diags diag.Diagnostics
	for _, c := range v.clusters {
		voters := c.votersAt(anyMoment)
		for _, m := range voters {
			if v.Destroy || m.Healthy || c.known(m) || v.records(m) {
				continue
			}
			diags.Append(diag.Warningf("Etcd counts on a member that nobody knows", "Member %s (%s, %s) of the etcd of cluster %q does not answer, and is on no control plane of the configuration or the state. "+
				"It counts for quorum all the same: of %d voters %d have to answer. See to its host; if that is gone for good, take the member out (etcdctl member remove %s).",
				cmp.Or(m.Name, "without a name"), m.ID, strings.Join(m.PeerURLs, ", "), c.Label, len(voters), len(voters)/2+1, m.ID).At(c.Source).For(c.target))
		}
	}
	return diags
}

// records tells that a member of etcd is on a node that the state knows.
func (v *View) records(m state.EtcdMember) bool {
	if v.Recorded == nil {
		return false
	}
	for _, n := range v.Recorded.Nodes {
		if slices.Contains(m.PeerURLs, kubeadm.PeerURL(n.Address)) {
			return true
		}
	}
	return false
}

// concerns tells that a target is of the cluster, or leaves it.
func (v *View) concerns(c *cluster, t state.Target) bool {
	return v.clusterOf(t) == c || slices.ContainsFunc(v.leavers(), func(l leaver) bool { return l.target == t && l.cluster == c })
}

package etcd

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/drain"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/quorum"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Alarms reports the alarms of etcd. It refuses a plan that changes a cluster whose etcd has one:
// the API could not store anything. A destroy does not need etcd.
func Alarms(v *topology.Fleet, p *planner.Plan) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, c := range v.Clusters {
		if c.Seen == nil || v.Destroy {
			continue
		}
		text := quorum.Alarmed(c.Seen.Members)
		if text == "" {
			continue
		}
		d := diag.Warningf(Alarmed, "Cluster %q: %s", c.Label, text)
		if slices.ContainsFunc(p.Steps, func(s planner.Step) bool { return drain.TargetOfCluster(v, c, s.Target) }) {
			d = diag.Errorf(Alarmed, "Cluster %q: %s\n\nThis plan is blocked until then: its steps need an etcd that accepts writes.", c.Label, text)
		}
		diags = append(diags, d.At(c.Source))
	}
	return diags
}

// LostUnknownVoters warns of voters of etcd that do not answer and are on no known node: they count
// for quorum, and no plan ever removes them.
func LostUnknownVoters(v *topology.Fleet) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, c := range v.Clusters {
		voters := c.Voters()
		for _, m := range voters {
			if v.Destroy || m.Healthy || IsKnownMember(c, m) || records(v, m) {
				continue
			}
			diags.Append(diag.Warningf("Unknown etcd member is down", "Member %s (%s, %s) of the etcd of cluster %q does not answer, "+
				"and is on no control plane of the configuration or the state. It still counts for quorum: of %d voters %d have to answer. "+
				"Repair its host; if that is gone for good, remove the member (etcdctl member remove %s).",
				cmp.Or(m.Name, "without a name"), m.ID, strings.Join(m.PeerURLs, ", "), c.Label, len(voters), len(voters)/2+1, m.ID).At(c.Source).For(c.Target))
		}
	}
	return diags
}

// records reports whether a member of etcd is on a node that the state knows.
func records(v *topology.Fleet, m state.EtcdMember) bool {
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

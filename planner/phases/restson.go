package phases

import (
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state"
)

// A node that leaves is taken away as it is found, so that a plan shows no item of it
// that changes. What its steps rest on all the same is who it is that they take away:
// the machine, whose it is by our mark, and the member of etcd. Its labels, annotations,
// taints and kubelet, and what lies on its host besides, go with it whatever they are
// by then, and are no ground to review the plan again.

// resetRestsOn is what the reset of the leaver rests on.
func (l leaver) resetRestsOn() map[string]state.Value {
	out := map[string]state.Value{}
	r := l.report
	if r == nil && l.replaced { // nothing is taken away there, but it joins
		r = l.cluster.view.Reports[l.target]
	}
	if r != nil && r.Facts.MachineID != "" {
		out["machine_id"] = state.String(short(r.Facts.MachineID))
	}
	if m := marksOf(l.report); m != nil {
		out["mark.cluster"], out["mark.lineage"] = state.String(m.Cluster), state.String(m.Lineage)
		out["mark.node"] = state.String(m.Node.String())
	}
	if l.whole {
		return out
	}
	if l.report != nil {
		out["role"] = state.String(string(roleThere(l.report)))
	}
	if l.report != nil && l.Role == string(config.ControlPlane) {
		// It stops the API server before the member goes.
		out["kubelet"] = state.String(l.report.Units[kubeletUnit].Active)
	}
	for _, m := range l.cluster.membersSeen() {
		if slices.Contains(m.PeerURLs, l.peerURL()) {
			out["etcd_member.id"], out["etcd_member.learner"] = state.String(m.ID), state.Bool(m.Learner)
		}
	}
	return out
}

// membersSeen are etcd's members, those that leave among them; none where they were not
// asked for, or are not ours.
func (c *cluster) membersSeen() []state.EtcdMember {
	if c.seen == nil || c.Etcd.External != nil {
		return nil
	}
	return c.seen.Members
}

// drainRestsOn is what the drain of the leaver rests on beside its pods: a node that
// somebody has cordoned stays so where others let pods in again after a drain that fails.
func (l leaver) drainRestsOn() map[string]state.Value {
	if l.cluster.Upgrade.Drain.StayCordoned {
		return nil
	}
	return map[string]state.Value{"unschedulable": state.Bool(l.cluster.seen.Nodes[l.Name].Unschedulable)}
}

package drain

import (
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// A node that leaves is taken away as it is found, so that a plan shows no item of it
// that changes. What its steps rest on all the same is who it is that they take away:
// the machine, whose it is by our mark, and the member of etcd. Its labels, annotations,
// taints and kubelet, and what lies on its host besides, go with it whatever they are
// by then, and are no ground to review the plan again.

// ResetPreconditions returns what the reset of the departing node rests on.
func ResetPreconditions(l topology.Departure) map[string]state.Value {
	out := map[string]state.Value{}
	r := l.Report
	if r == nil && l.Replaced { // nothing is taken away there, but it joins
		r = l.Cluster.Fleet.Reports[l.Target]
	}
	if r != nil && r.Facts.MachineID != "" {
		out["machine_id"] = state.String(topology.Short(r.Facts.MachineID))
	}
	if m := topology.MarksOf(l.Report); m != nil {
		out["mark.cluster"], out["mark.lineage"] = state.String(m.Cluster), state.String(m.Lineage)
		out["mark.node"] = state.String(m.Node.String())
	}
	if l.Whole {
		return out
	}
	if l.Report != nil {
		out["role"] = state.String(string(topology.RoleThere(l.Report)))
	}
	if l.Report != nil && l.Role == string(config.ControlPlane) {
		// It stops the API server before the member goes.
		out["kubelet"] = state.String(l.Report.Units[topology.KubeletUnit].Active)
	}
	for _, m := range membersSeen(l.Cluster) {
		if slices.Contains(m.PeerURLs, l.PeerURL()) {
			out["etcd_member.id"], out["etcd_member.learner"] = state.String(m.ID), state.Bool(m.Learner)
		}
	}
	return out
}

// membersSeen are etcd's members, those that leave among them; none where they were not
// asked for, or are not ours.
func membersSeen(c *topology.Cluster) []state.EtcdMember {
	if c.Seen == nil || c.Etcd.External != nil {
		return nil
	}
	return c.Seen.Members
}

// drainPreconditions returns what the drain of the departing node rests on beside its pods: a node that
// somebody has cordoned stays so where others let pods in again after a drain that fails.
func drainPreconditions(l topology.Departure) map[string]state.Value {
	if l.Cluster.Upgrade.Drain.StayCordoned {
		return nil
	}
	return map[string]state.Value{"unschedulable": state.Bool(l.Cluster.Seen.Nodes[l.Name].Unschedulable)}
}

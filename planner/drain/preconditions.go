package drain

import (
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// A departing node is removed as it is found, so a plan shows no changed items for it. Its steps
// still depend on the identity of what they remove: the machine, its marker, and the etcd member.
// Labels, annotations, taints, the kubelet and other files on the host are removed whatever they
// are by then, so a change there does not invalidate the plan.

// ResetPreconditions returns the preconditions of the reset of the departing node.
func ResetPreconditions(l topology.Departure) map[string]state.Value {
	out := map[string]state.Value{}
	r := l.Report
	if r == nil && l.Replaced { // nothing is removed there, but the host joins
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
		// The reset stops the API server before it removes the member.
		out["kubelet"] = state.String(l.Report.Units[topology.KubeletUnit].Active)
	}
	for _, m := range membersSeen(l.Cluster) {
		if slices.Contains(m.PeerURLs, l.PeerURL()) {
			out["etcd_member.id"], out["etcd_member.learner"] = state.String(m.ID), state.Bool(m.Learner)
		}
	}
	return out
}

// membersSeen returns the observed members of etcd, including departing ones; none when they were
// not queried, or for an external etcd.
func membersSeen(c *topology.Cluster) []state.EtcdMember {
	if c.Seen == nil || c.Etcd.External != nil {
		return nil
	}
	return c.Seen.Members
}

// drainPreconditions returns the preconditions of the drain of the departing node, besides its
// pods: after a failed drain, a node that was already cordoned stays cordoned, any other one is
// uncordoned.
func drainPreconditions(l topology.Departure) map[string]state.Value {
	if l.Cluster.Upgrade.Drain.StayCordoned {
		return nil
	}
	return map[string]state.Value{"unschedulable": state.Bool(l.Cluster.Seen.Nodes[l.Name].Unschedulable)}
}

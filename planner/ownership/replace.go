package ownership

import (
	"maps"
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// ReplaceUnknown refuses flags for nodes that they do not apply to.
func ReplaceUnknown(v *topology.Fleet) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, t := range v.Replace {
		switch {
		case !slices.ContainsFunc(v.Config.Nodes, func(n *config.Node) bool { return n.Target == t }):
			diags.Append(diag.Errorf("Nothing to replace", "%s: the configuration has no such node.", remedy.Replace.Of(t)))
		case !v.RecordedNode(t):
			diags.Append(diag.Warningf("Nothing to remove", "%s: the node does not exist yet, or an earlier apply has removed it already. It joins.", remedy.Replace.Of(t)).For(t))
		case v.Reports[t] == nil:
			diags.Append(refuseReplacing(v, t))
		}
	}
	for _, t := range v.AcceptNewHost {
		if !slices.Contains(v.Replace, t) {
			diags.Append(diag.Errorf("New host is accepted without a replacement", "%s requires %s: a new machine is not a member of the cluster, so that its node has to join again.", remedy.NewHost.Of(t), remedy.Replace.Of(t)).For(t))
		}
	}
	return diags
}

// Unreplaced warns of nodes to be replaced that -target or -exclude leaves out of the plan.
func Unreplaced(v *topology.Fleet, p *planner.Plan, o planner.Options) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, t := range v.Replace {
		if p.Restricted() && v.Replaces(t) && !slices.ContainsFunc(p.Steps, func(s planner.Step) bool { return s.Target == t }) {
			diags.Append(diag.Warningf("Node is not replaced", "%s: the node is excluded from the plan by %s.", remedy.Replace.Of(t), Restrictions(o)).For(t))
		}
	}
	return diags
}

// refuseReplacing refuses to replace a node whose host was not observed.
func refuseReplacing(v *topology.Fleet, t state.Target) *diag.Diagnostic {
	i := slices.IndexFunc(v.Config.Nodes, func(n *config.Node) bool { return n.Target == t })
	return diag.Errorf(HostNotObserved, "%s: a node is replaced only on a host that answers.\n\n%s\n\nIf the host is gone for good, remove its block, and the node with %s.", remedy.Replace.Of(t), Reason(v.Unobserved[t]), remedy.GoneHost.Of(t)).At(v.Config.Nodes[i].Source).For(t)
}

// AnotherMachine refuses a host that is not the one which joined, until the user accepts it with a
// flag.
func AnotherMachine(v *topology.Fleet, n *config.Node, was *state.RecordedNode, r *state.Report) *diag.Diagnostic {
	id := r.Facts.MachineID
	if !topology.OtherMachine(was, r) || slices.Contains(v.AcceptNewHost, n.Target) {
		return nil
	}
	first := "Its old Node object is removed first."
	if c := v.Config.Cluster(n.Cluster); was.Role == string(config.ControlPlane) && c != nil && c.Etcd.External == nil {
		first = "Its old etcd member and its old Node object are removed first, while the others hold quorum."
	}
	return diag.Errorf(otherMachineID, "%s (%s) has the machine id %s, and the host that joined had %s: it was reinstalled, or another host has its address. "+
		"If this is intended, replace the node and accept the new machine:\n\n  %s\n\n%s If it is not, correct the address.",
		n.Target, n.Address, topology.Short(id), topology.Short(was.MachineID), remedy.With(remedy.Replace.Of(n.Target), remedy.NewHost.Of(n.Target)), first).At(n.Source).For(n.Target)
}

// HostOfAnother refuses the machine of another node, even if flags ask for it: the other node would
// be removed from the very host that this one uses. Usually a key or an address is mistyped, and
// neither node should be removed.
func HostOfAnother(v *topology.Fleet, n *config.Node, was *state.RecordedNode, r *state.Report) *diag.Diagnostic {
	if !topology.OtherMachine(was, r) {
		return nil
	}
	for _, t := range slices.SortedFunc(maps.Keys(v.Recorded.Nodes), topology.CompareTargets) {
		other := v.Recorded.Nodes[t]
		if other.MachineID != r.Facts.MachineID || v.ForgetRequested(t) {
			continue
		}
		return diag.Errorf(otherNode, "%s now has the address %s, and the machine there is the host of %s. The state records %s at %s, and %s at %s. "+
			"If a key or an address is in the wrong block, for example because two blocks were swapped, restore what the state records. "+
			"If only the names changed, declare that with moved blocks.\n\nTo move %s to this host, remove %s from it first: apply without %s, "+
			"and with %s at the address that the state records.",
			n.Target, n.AdvertiseAddress(), t, n.Target, was.Address, t, other.Address, n.Target, t, t, n.Target).At(n.Source).For(n.Target)
	}
	return nil
}

// OldHostRuns refuses another host for a node while the one that joined, at another address, keeps
// running as that node: it would be neither drained nor reset, and no later plan would include it.
func OldHostRuns(v *topology.Fleet, n *config.Node, was *state.RecordedNode, r *state.Report) *diag.Diagnostic {
	c := v.ClusterReports[n.Cluster]
	other := topology.OtherMachine(was, r) || topology.Blank(r)
	if c == nil || !topology.Readdressed(n, was) || !other || !v.ControlPlaneStays(n) {
		return nil
	}
	if seen, there := c.Nodes[was.Name]; !there || seen.Silent {
		return nil
	}
	return diag.Errorf("Old host still runs the node", "%s now has the address %s, where another machine is, but the kubelet of node %q still reports to the API: "+
		"the host that joined, at %s, still runs that node. It would be neither drained nor reset, and would keep its kubelet, its pods with their data, "+
		"and the keys of the cluster. Remove it first: take the block of %s, or its key, out of the configuration and apply, "+
		"which drains and resets the old host; then add it back with the new address.\n\n"+
		"To remove the old host without a reset, drain it (kubectl drain %s), switch it off, and once the API shows its node as NotReady, "+
		"with the status unknown:\n\n  %s\n\nIf the address is a mistake, correct it.",
		n.Target, n.AdvertiseAddress(), was.Name, was.Address, n.Target, was.Name, remedy.Apply.With(remedy.Replace.Of(n.Target), remedy.NewHost.Of(n.Target))).At(n.Source).For(n.Target)
}

// ReplaceReason returns why a node has to be replaced; "" if it does not.
func ReplaceReason(v *topology.Fleet, n *config.Node, was *state.RecordedNode) string {
	if slices.Contains(v.Replace, n.Target) {
		return planner.ReasonRequested
	}
	return topology.AnotherNodeReason(n, was)
}

// ReplaceAll refuses to replace all control planes of a cluster in one plan: one has to stay,
// through which the others join.
func ReplaceAll(v *topology.Fleet) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, c := range v.Config.Clusters {
		present, stay := 0, 0
		for t, was := range v.Recorded.Nodes {
			if was.Cluster != c.Label || was.Role != string(config.ControlPlane) {
				continue
			}
			present++
			if !v.Replaces(t) && slices.ContainsFunc(v.Config.Nodes, func(n *config.Node) bool { return n.Target == t }) {
				stay++
			}
		}
		if present > 0 && stay == 0 {
			diags.Append(diag.Errorf("No control plane would remain", "Cluster %q: this plan removes every control plane, but new ones join through one that "+
				"remains. Use two plans: add or replace some first, then the rest. To remove the cluster with its data, use %s.", c.Label, remedy.Destroy).At(c.Source).For(state.ClusterTarget(c.Label)))
		}
	}
	return diags
}

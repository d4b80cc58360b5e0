package maintenance

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// notStopped returns the control planes that the state knows and that a restore would not
// stop, because they are no control planes of the configuration any more, each with
// the reason. One is left alone when it is known to be gone: its host holds nothing of
// the cluster, or somebody has said so and it does not answer.
func notStopped(c *topology.Cluster) (targets []state.Target, lines []string) {
	v := c.Fleet
	if v.Recorded == nil {
		return nil, nil
	}
	for _, t := range slices.SortedFunc(maps.Keys(v.Recorded.Nodes), topology.CompareTargets) {
		was, r := v.Recorded.Nodes[t], v.Reports[t]
		if was.Cluster != c.Label || was.Role != string(config.ControlPlane) || v.Abandons(t) {
			continue
		}
		why := ""
		switch n := c.Node(t); {
		case n != nil && topology.Readdressed(n.Node, was) && (n.Report == nil || n.Report.Facts.MachineID != was.MachineID):
			why = "the configuration gives it another address, " + n.AdvertiseAddress()
		case n != nil && n.IsControlPlane(), r != nil && topology.Traceless(r):
		case n != nil:
			why = "a " + string(n.Role) + " by the configuration"
		case v.ForgetRequested(t) && !v.Answers(t):
			why = "declared gone for good, but " + strings.Join(v.SignsOfLife(t), ", and ") + "; to remove it, switch it off"
		case r != nil:
			why = "no longer in the configuration, and its host answers"
		default:
			why = "no longer in the configuration, and " + cmp.Or(v.Unobserved[t].Reason, "its host is not observed")
		}
		if why != "" {
			targets, lines = append(targets, t), append(lines, fmt.Sprintf("  %s (%s): %s", t, was.Address, why))
		}
	}
	return targets, lines
}

// refuseNotStopped refuses a restore beside control planes that it would not stop: a
// member that lives on there is another cluster with the same name and the same keys,
// or one that has a quorum still.
func refuseNotStopped(c *topology.Cluster) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, n := range c.ControlPlanes() {
		if n.Report != nil && holdsMember(n) && len(lackedToRestore(n)) > 0 {
			diags.Append(refuseHeldBack(n))
		}
	}
	if d := refuseUnconfigured(c); d != nil {
		diags.Append(d)
	}
	return diags
}

// holdsMember reports whether there is what a kubelet would start etcd of, or the data that
// such a member goes on with.
func holdsMember(n *topology.Node) bool {
	return n.Report.Files[topology.Manifest("etcd")].Exists || n.Report.Files[n.EtcdData()].Exists
}

// refuseHeldBack reports a control plane that is no part of a restore, and on which a
// member of the old etcd would live on.
func refuseHeldBack(n *topology.Node) *diag.Diagnostic {
	return diag.Errorf(wouldGoOn, "A restore stops etcd on the control planes that join the restored one, but %s (%s) could not join it: "+
		"it holds a member of etcd, and no readable %s. That member, once it runs again, would be a second cluster beside the restored one. "+
		"kubewright apply restores what is missing, also while the API does not answer; where it is refused, copy it from another control plane or a backup. "+
		"Then run the same command again. If the data on the host is not needed, clean it (kubeadm reset): etcd is then restored without it, "+
		"and the next kubewright apply joins it again.",
		n.Target, n.Address, strings.Join(lackedToRestore(n), " and no ")).At(n.Source).For(n.Target)
}

const wouldGoOn = "Control plane would keep its old etcd member"

// refuseUnconfigured refuses a restore beside those that notStopped names.
func refuseUnconfigured(c *topology.Cluster) *diag.Diagnostic {
	targets, lines := notStopped(c)
	if len(targets) == 0 {
		return nil
	}
	var flags []string
	for _, t := range targets {
		if c.Node(t) == nil && c.Fleet.Reports[t] == nil && !c.Fleet.ForgetRequested(t) {
			flags = append(flags, topology.AsFlags(t, topology.ForgetUnreachableFlag))
		}
	}
	way := ""
	if len(flags) > 0 {
		way = fmt.Sprintf(" If the host of one that does not answer is gone for good, declare that:\n\n  kubewright etcd restore FILE %s\n\n"+
			"A removed block with unreachable = true does the same.", strings.Join(flags, " "))
	}
	return diag.Errorf(wouldGoOn, "A restore stops etcd on every control plane of the cluster, but it would leave out these control planes that the state records "+
		"for cluster %q:\n\n%s\n\nA member of the old etcd that keeps running, or comes back, would be a second cluster beside the restored one. "+
		"Restore their blocks as they were, and make their hosts reachable; remove or change them when the restore is done.%s",
		c.Label, strings.Join(lines, "\n"), way).At(c.Source).For(c.Target)
}

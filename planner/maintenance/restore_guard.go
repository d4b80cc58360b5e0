package maintenance

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// notStopped returns the recorded control planes that a restore would not stop, because they are no
// longer control planes of the configuration, each with the reason. It skips those known to be
// gone: their host has no files of the cluster, or is declared gone and does not answer.
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

// refuseNotStopped refuses a restore while there are control planes that it would not stop: a
// member that keeps running there would be a second cluster with the same name and keys, or one
// that still has quorum.
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

// holdsMember reports whether the host has an etcd manifest that a kubelet would start, or the data
// of a member.
func holdsMember(n *topology.Node) bool {
	return n.Report.Files[topology.Manifest("etcd")].Exists || n.Report.Files[n.EtcdData()].Exists
}

// refuseHeldBack refuses a control plane that cannot take part in a restore, and on which a member
// of the old etcd would keep running.
func refuseHeldBack(n *topology.Node) *diag.Diagnostic {
	return diag.Errorf(wouldGoOn, "A restore stops etcd on the control planes that join the restored one, but %s (%s) could not join it: "+
		"it holds a member of etcd, and no readable %s. That member, once it runs again, would be a second cluster beside the restored one. "+
		"%s restores what is missing, also while the API does not answer; where it is refused, copy it from another control plane or a backup. "+
		"Then run the same command again. If the data on the host is not needed, clean it (kubeadm reset): etcd is then restored without it, "+
		"and the next %s joins it again.",
		n.Target, n.Address, strings.Join(lackedToRestore(n), " and no "), remedy.Apply, remedy.Apply).At(n.Source).For(n.Target)
}

const wouldGoOn = "Control plane would keep its old etcd member"

// refuseUnconfigured refuses a restore while notStopped returns control planes.
func refuseUnconfigured(c *topology.Cluster) *diag.Diagnostic {
	targets, lines := notStopped(c)
	if len(targets) == 0 {
		return nil
	}
	var gone []remedy.Option
	for _, t := range targets {
		if c.Node(t) == nil && c.Fleet.Reports[t] == nil && !c.Fleet.ForgetRequested(t) {
			gone = append(gone, remedy.GoneHost.Of(t))
		}
	}
	var way remedy.Text
	if len(gone) > 0 {
		way = remedy.Textf(" If the host of one that does not answer is gone for good, declare that:\n\n  %s\n\n"+
			"A removed block with unreachable = true does the same.", remedy.Restore.On("FILE").With(gone...))
	}
	return diag.Errorf(wouldGoOn, "A restore stops etcd on every control plane of the cluster, but it would leave out these control planes that the state records "+
		"for cluster %q:\n\n%s\n\nA member of the old etcd that keeps running, or comes back, would be a second cluster beside the restored one. "+
		"Restore their blocks as they were, and make their hosts reachable; remove or change them when the restore is done.%s",
		c.Label, strings.Join(lines, "\n"), way).At(c.Source).For(c.Target)
}

package phases

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

// notStopped are the control planes that the state knows and that a restore would not
// stop, because they are no control planes of the configuration any more, each with
// the reason. One is left alone when it is known to be gone: its host holds nothing of
// the cluster, or somebody has said so and it does not answer.
func (c *cluster) notStopped() (targets []state.Target, lines []string) {
	v := c.view
	if v.Recorded == nil {
		return nil, nil
	}
	for _, t := range slices.SortedFunc(maps.Keys(v.Recorded.Nodes), compareTargets) {
		was, r := v.Recorded.Nodes[t], v.Reports[t]
		if was.Cluster != c.Label || was.Role != string(config.ControlPlane) || v.abandons(t) {
			continue
		}
		why := ""
		switch n := c.node(t); {
		case n != nil && readdressed(n.Node, was) && (n.report == nil || n.report.Facts.MachineID != was.MachineID):
			why = "the configuration gives it another address, " + n.AdvertiseAddress()
		case n != nil && n.isControlPlane(), r != nil && traceless(r):
		case n != nil:
			why = "a " + string(n.Role) + " by the configuration"
		case v.saidGone(t) && !v.answers(t):
			why = "said to be gone for good, and " + strings.Join(v.signsOfLife(t), ", and ") + "; if it is to go, switch it off"
		case r != nil:
			why = "no longer in the configuration, and its host answers"
		default:
			why = "no longer in the configuration, and " + cmp.Or(v.Unobserved[t].Reason, "nobody looks at its host")
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
func (c *cluster) refuseNotStopped() diag.Diagnostics {
	var diags diag.Diagnostics
	for _, n := range c.controlPlanes() {
		if n.report != nil && n.holdsMember() && len(n.lackedToRestore()) > 0 {
			diags.Append(n.refuseHeldBack())
		}
	}
	if d := c.refuseUnconfigured(); d != nil {
		diags.Append(d)
	}
	return diags
}

// holdsMember tells that there is what a kubelet would start etcd of, or the data that
// such a member goes on with.
func (n *node) holdsMember() bool {
	return n.report.Files[manifest("etcd")].Exists || n.report.Files[n.etcdData()].Exists
}

// refuseHeldBack speaks of a control plane that is no part of a restore, and on which a
// member of the old etcd would live on.
func (n *node) refuseHeldBack() *diag.Diagnostic {
	return diag.Errorf(wouldGoOn, "A restore stops etcd on the control planes that join the restored one, and %s (%s) could not join it: it holds a member of etcd, and no %s that can be read. "+
		"Nothing was changed: that member, once it runs again, would be a second cluster beside the restored one. kubewright apply puts back what is missing, also while the API does not answer; where it is refused, copy it from another control plane or a backup. Then run the same command again. "+
		"If nobody needs what is on the host, clean it (kubeadm reset): etcd is then restored without it, and the next kubewright apply joins it anew.",
		n.target, n.Address, strings.Join(n.lackedToRestore(), " and no ")).At(n.Source).For(n.target)
}

const wouldGoOn = "Control plane would go on"

// refuseUnconfigured refuses a restore beside those that notStopped names.
func (c *cluster) refuseUnconfigured() *diag.Diagnostic {
	targets, lines := c.notStopped()
	if len(targets) == 0 {
		return nil
	}
	var flags []string
	for _, t := range targets {
		if c.node(t) == nil && c.view.Reports[t] == nil && !c.view.saidGone(t) {
			flags = append(flags, AsFlags(t, ForgetUnreachableFlag))
		}
	}
	way := ""
	if len(flags) > 0 {
		way = fmt.Sprintf(" If the host of one that does not answer is gone for good, say so:\n\n  kubewright etcd restore FILE %s\n\n"+
			"A removed block with unreachable = true does the same.", strings.Join(flags, " "))
	}
	return diag.Errorf(wouldGoOn, "A restore stops etcd on every control plane of the cluster, and of those of cluster %q that the state has it would leave out:\n\n%s\n\n"+
		"Nothing was changed: a member of the old etcd that goes on, or comes back, would be a second cluster beside the restored one. "+
		"Put them back into the configuration as they were, and have them answer; take them out, or change them, when the restore is done.%s",
		c.Label, strings.Join(lines, "\n"), way).At(c.Source).For(c.target)
}

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
func (c *cluster) refuseNotStopped() *diag.Diagnostic {
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
	return diag.Errorf("Control plane would go on", "A restore stops etcd on every control plane of the cluster, and of those of cluster %q that the state has it would leave out:\n\n%s\n\n"+
		"Nothing was changed: a member of the old etcd that goes on, or comes back, would be a second cluster beside the restored one. "+
		"Put them back into the configuration as they were, and have them answer; take them out, or change them, when the restore is done.%s",
		c.Label, strings.Join(lines, "\n"), way).At(c.Source).For(c.target)
}

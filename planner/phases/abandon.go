package phases

import (
	"fmt"
	"maps"
	"slices"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

// abandons tells that a node without a block is taken out of its cluster without
// its host: somebody has said that the host is gone for good, and it does not
// answer as the machine that it was. That it does not answer alone never counts.
func (v *View) abandons(t state.Target) bool {
	return v.saidGone(t) && !v.Destroy && !v.answers(t)
}

// saidGone tells that a removed block or the flag says of a recorded node
// without a block that its host is gone for good.
func (v *View) saidGone(t state.Target) bool {
	if !v.recordedNode(t) || v.configured(t) {
		return false
	}
	if slices.Contains(v.ForgetUnreachable, t) {
		return true
	}
	for _, r := range v.Config.Removals {
		if r.Unreachable && r.Covers(t) {
			return true
		}
	}
	return false
}

func (v *View) configured(t state.Target) bool {
	for _, n := range v.Config.Nodes {
		if n.Target == t {
			return true
		}
	}
	return false
}

// answers tells that the machine which joined was seen. Another one at its
// address, on which nothing is, is not it.
func (v *View) answers(t state.Target) bool {
	r, was := v.Reports[t], v.Recorded.Nodes[t]
	if r == nil {
		return false
	}
	other := was.MachineID != "" && r.Facts.MachineID != "" && was.MachineID != r.Facts.MachineID
	return !other || !blank(r)
}

// notGone refuses to forget hosts that answer, and flags that name what they
// cannot be said of.
func (v *View) notGone() diag.Diagnostics {
	var diags diag.Diagnostics
	for _, t := range v.ForgetUnreachable {
		switch {
		case v.configured(t):
			diags.Append(diag.Errorf("Node is still in the configuration", "-%s=%s: the configuration has the node still, so it would be made again. Take its block or its key out first; "+
				"if another machine has taken its place, have it replaced: -%s='%s' -%s='%s'.", ForgetUnreachableFlag, t, ReplaceFlag, t, AcceptNewHostFlag, t).For(t))
		case !v.recordedNode(t):
			diags.Append(diag.Errorf("Nothing to forget", "-%s=%s: the state has no such node.", ForgetUnreachableFlag, t))
		}
	}
	if v.Recorded == nil {
		return diags
	}
	for _, t := range slices.SortedFunc(maps.Keys(v.Recorded.Nodes), compareTargets) {
		if was := v.Recorded.Nodes[t]; v.saidGone(t) && v.answers(t) {
			diags.Append(diag.Errorf("Host is not gone", "%s (%s) is said to be gone for good, and it answers. Nothing is changed: what is taken out of the cluster while it runs goes on by itself. "+
				"Without unreachable = true, or without -%s, it is drained and reset as usual.", t, was.Address, ForgetUnreachableFlag).For(t))
		}
	}
	return diags
}

// otherHosts refuses to give back machines that never were the node: one that has its
// address by now, or that was installed anew. What is on it is not ours to take away, and
// the machine that joined may go on somewhere else. By our mark it is known whatever its
// machine id is; in a destroy one on which nothing of a cluster is loses nothing.
func (v *View) otherHosts() diag.Diagnostics {
	var diags diag.Diagnostics
	if v.Recorded == nil || v.RefreshOnly {
		return diags
	}
	for _, t := range slices.SortedFunc(maps.Keys(v.Recorded.Nodes), compareTargets) {
		was, r := v.Recorded.Nodes[t], v.Reports[t]
		leaves := v.Destroy || !v.configured(t)
		if !leaves || r == nil || v.saidGone(t) && !v.Destroy || v.forgets(t) || blank(r) && v.Destroy {
			continue
		}
		if id := r.Facts.MachineID; was.MachineID == "" || id == "" || id == was.MachineID || r.Marks != nil && r.Marks.Lineage == v.Recorded.Lineage {
			continue
		}
		diags.Append(refuseOtherHost(t, was, r))
	}
	return diags
}

func refuseOtherHost(t state.Target, was *state.RecordedNode, r *state.Report) *diag.Diagnostic {
	way := fmt.Sprintf("The host that joined may go on somewhere else. If it is gone for good, say so, and the node is taken out through the others, without that machine:\n\n  -%s='%s'\n\n", ForgetUnreachableFlag, t)
	if !blank(r) {
		way = fmt.Sprintf("There are files of a cluster on it, which the reset would take away. If somebody needs them, have the state forget the node, which changes no host, and plan again:\n\n  kubewright state rm '%s'\n\n"+
			"If nobody does, clean that machine (kubeadm reset), and plan again. ", t)
	}
	return diag.Errorf("Host is another machine", "%s (%s) is to leave cluster %q, and its host to be given back, but the machine there has the machine id %s, and the host that joined had %s: it was reinstalled, or another host has its address. "+
		"Nothing is changed on any host. %sIf the host that joined has another address by now, put its block back with that one.",
		t, was.Address, was.Cluster, short(r.Facts.MachineID), short(was.MachineID), way).For(t)
}

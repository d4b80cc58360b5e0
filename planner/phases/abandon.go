package phases

import (
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
	return !otherMachine(was, r) || !blank(r)
}

// notGone refuses to forget hosts that answer, and flags that name what they
// cannot be said of.
func (v *View) notGone() diag.Diagnostics {
	var diags diag.Diagnostics
	for _, t := range v.ForgetUnreachable {
		switch {
		case v.configured(t):
			diags.Append(diag.Errorf("Node is still in the configuration", "-%s=%s: the configuration has the node still, so it would be made again. Take its block or its key out first; "+
				"if another machine has taken its place, have it replaced: %s.", ForgetUnreachableFlag, t, AsFlags(t, ReplaceFlag, AcceptNewHostFlag)).For(t))
		case !v.recordedNode(t):
			diags.Append(diag.Errorf("Nothing to forget", "-%s=%s: the state has no such node. kubewright state list names those that it has.", ForgetUnreachableFlag, t))
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

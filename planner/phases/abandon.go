package phases

import (
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// abandons tells that a node without a block is taken out of its cluster without
// its host: somebody has said that the host is gone for good, and nothing shows
// that it is not. That it does not answer alone never counts.
func (v *View) abandons(t state.Target) bool {
	return v.saidGone(t) && !v.Destroy && !v.answers(t) && len(v.signsOfLife(t)) == 0
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

// signsOfLife are what shows that the host of a recorded node is not gone, although it
// could not be looked at: it refused us, as a machine that runs does, or its cluster
// hears of it. A machine at its address that does not prove to be it may be another
// one: of that the cluster tells, where it shows a Node that is silent.
func (v *View) signsOfLife(t state.Target) []string {
	var out []string
	was, u := v.Recorded.Nodes[t], v.Unobserved[t]
	c := v.Clusters[was.Cluster]
	if c == nil {
		c = &state.ClusterReport{}
	}
	if u.Answered || u.Estranged && !c.Nodes[was.Name].Silent {
		out = append(out, "its host is not silent ("+u.Reason+")")
	}
	peer := ""
	if was.Role == string(config.ControlPlane) {
		peer = kubeadm.PeerURL(was.Address)
	}
	return append(out, planner.SignsOfLife(was.Name, c.Nodes, peer, c.Members)...)
}

// refuseLiving refuses to forget a node of which something shows that it lives. Who
// knows better can end that: a machine that is to go is switched off.
func (v *View) refuseLiving(t state.Target, life []string) *diag.Diagnostic {
	todo := ""
	if u := v.Unobserved[t]; u.Remedy != "" {
		todo = " (" + u.Remedy + ")"
	}
	return diag.Errorf("Host is not gone", "%s (%s) is said to be gone for good, and %s. Nothing is changed: what is taken out of the cluster while it runs goes on by itself, with its pods and with the keys of the cluster.\n\n"+
		"If it is to go, and nobody can log in to it any more, switch it off. The API shows its Node with the status Unknown within a minute or so after that, and the same command takes it out. "+
		"If it is to leave as usual, drained and reset, have it reached again%s, and plan without unreachable = true, or without -%s.",
		t, v.Recorded.Nodes[t].Address, strings.Join(life, ", and "), todo, ForgetUnreachableFlag).For(t)
}

// notGone refuses to forget hosts that answer or are known to live, and flags that
// name what they cannot be said of.
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
		if !v.saidGone(t) || v.Destroy && !v.answers(t) {
			continue
		}
		if was := v.Recorded.Nodes[t]; v.answers(t) {
			diags.Append(diag.Errorf("Host is not gone", "%s (%s) is said to be gone for good, and it answers. Nothing is changed: what is taken out of the cluster while it runs goes on by itself. "+
				"Without unreachable = true, or without -%s, it is drained and reset as usual.", t, was.Address, ForgetUnreachableFlag).For(t))
		} else if life := v.signsOfLife(t); len(life) > 0 {
			diags.Append(v.refuseLiving(t, life))
		}
	}
	return diags
}

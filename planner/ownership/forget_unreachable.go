package ownership

import (
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// refuseLiving refuses to forget a node that shows signs of life. The user can end that by
// switching the machine off.
func refuseLiving(v *topology.Fleet, t state.Target, life []string) *diag.Diagnostic {
	todo := ""
	if u := v.Unobserved[t]; u.Remedy != "" {
		todo = " (" + u.Remedy + ")"
	}
	return diag.Errorf("Host is still alive", "%s (%s) is declared gone for good, but %s. A node that is removed from the cluster while it runs keeps running, "+
		"with its pods and with the keys of the cluster.\n\nIf it has to be removed and its host can no longer be logged in to, switch the host off. "+
		"The API shows its Node with the status Unknown within a minute or so after that, and the same command removes it. "+
		"To have it drained and reset as usual, make it reachable again%s, and plan without unreachable = true, or without %s.",
		t, v.Recorded.Nodes[t].Address, strings.Join(life, ", and "), todo, remedy.GoneHost).For(t)
}

// RefuseForgetLiving refuses to forget hosts that answer or show signs of life, and flags for nodes
// that they do not apply to.
func RefuseForgetLiving(v *topology.Fleet) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, t := range v.ForgetUnreachable {
		switch {
		case v.Configured(t):
			diags.Append(diag.Errorf("Node is still in the configuration", "%s: the node is still in the configuration, so it would be created again. "+
				"Remove its block or its key first; if another machine has taken its place, replace it: %s.", remedy.GoneHost.Of(t), remedy.With(remedy.Replace.Of(t), remedy.NewHost.Of(t))).For(t))
		case !v.RecordedNode(t):
			diags.Append(diag.Errorf("Nothing to forget", "%s: the state records no such node. %s prints those it records.", remedy.GoneHost.Of(t), remedy.List))
		}
	}
	if v.Recorded == nil {
		return diags
	}
	for _, t := range slices.SortedFunc(maps.Keys(v.Recorded.Nodes), topology.CompareTargets) {
		if !v.ForgetRequested(t) || v.Destroy && !v.Answers(t) {
			continue
		}
		if was := v.Recorded.Nodes[t]; v.Answers(t) {
			diags.Append(diag.Errorf("Host is still alive", "%s (%s) is declared gone for good, but it answers. A node that is removed from the cluster while it "+
				"runs keeps running. Without unreachable = true, or without %s, it is drained and reset as usual.", t, was.Address, remedy.GoneHost).For(t))
		} else if life := v.SignsOfLife(t); len(life) > 0 {
			diags.Append(refuseLiving(v, t, life))
		}
	}
	return diags
}

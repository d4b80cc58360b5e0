package phases

import (
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// refusePartial refuses a destroy that -target or -exclude restrict to some nodes
// of a cluster. Who is destroyed takes no leave: nothing is drained, no member of
// etcd is removed, and the others would be left with a cluster that counts on it.
// Hosts that cannot be reached are not among those that are left out.
func (v *View) refusePartial(d planner.Draft, p *planner.Plan) diag.Diagnostics {
	if !v.Destroy {
		return nil
	}
	goes, stays := map[string][]string{}, map[string][]string{}
	for _, s := range d.Steps {
		n := v.Recorded.Nodes[s.Target]
		switch {
		case n == nil || s.Phase != resetPhase:
		case p.Step(s.ID) != nil:
			goes[n.Cluster] = append(goes[n.Cluster], s.Target.String())
		default:
			stays[n.Cluster] = append(stays[n.Cluster], s.Target.String())
		}
	}
	var diags diag.Diagnostics
	for label, left := range stays {
		if len(goes[label]) == 0 {
			continue
		}
		diags = append(diags, diag.Errorf("Part of a cluster cannot be destroyed",
			"Of cluster %q %s would be destroyed, without a drain and without leaving etcd, and %s would be left. Nothing was changed. "+
				"To take single nodes out of a cluster that stays, remove them from the configuration and run kubewright apply: it evicts their pods, lets them leave etcd while quorum holds, and resets their hosts. "+
				"To destroy the whole cluster, give -target=%s.",
			label, strings.Join(goes[label], ", "), strings.Join(left, ", "), state.ClusterTarget(label)).For(state.ClusterTarget(label)))
	}
	slices.SortFunc(diags, func(a, b *diag.Diagnostic) int { return strings.Compare(a.Detail, b.Detail) })
	return diags
}

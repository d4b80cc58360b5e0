package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// refusePartial refuses what -target or -exclude restrict to some nodes of a
// cluster that goes as a whole: in a destroy, or since its blocks are gone. Who
// goes with it takes no leave: nothing is drained, no member of etcd is removed,
// and the others would be left with a cluster that counts on it. Hosts that cannot
// be reached are not among those that are left out.
func refusePartial(v *topology.Fleet, d planner.Draft, p *planner.Plan) diag.Diagnostics {
	whole := map[state.Target]topology.Departure{}
	for _, l := range v.Departures() {
		if l.Whole {
			whole[l.Target] = l
		}
	}
	goes, stays := map[string][]string{}, map[string][]string{}
	for _, s := range d.Steps {
		l, ok := whole[s.Target]
		switch {
		case !ok || s.Phase != topology.ResetPhase:
		case p.Step(s.ID) != nil:
			goes[l.RecordedNode.Cluster] = append(goes[l.RecordedNode.Cluster], s.Target.String())
		default:
			stays[l.RecordedNode.Cluster] = append(stays[l.RecordedNode.Cluster], s.Target.String())
		}
	}
	var diags diag.Diagnostics
	for label, left := range stays {
		if len(goes[label]) == 0 {
			continue
		}
		diags = append(diags, diag.Errorf("Part of a cluster cannot be destroyed",
			"Cluster %q: %s would be destroyed, without a drain and without leaving etcd, and %s would remain. %s",
			label, strings.Join(goes[label], ", "), strings.Join(left, ", "), insteadOfPart(v, label)).For(state.ClusterTarget(label)))
	}
	slices.SortFunc(diags, func(a, b *diag.Diagnostic) int { return strings.Compare(a.Detail, b.Detail) })
	return diags
}

// refuseUnasked refuses to take a cluster apart only because the configuration does
// not refer to it any more, as after a file was lost or another branch checked out:
// what its etcd holds would be lost. A node that leaves loses nothing of that.
func refuseUnasked(v *topology.Fleet, p *planner.Plan) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, r := range p.Resources {
		asked := v.Destroy || slices.ContainsFunc(v.Config.Removals, func(m config.Removal) bool { return m.Destroy && m.From == r.Target })
		if r.Target.Type != state.TypeCluster || r.Action != planner.Delete || asked {
			continue
		}
		diags = append(diags, diag.Errorf("Cluster would be destroyed",
			"The state records cluster %q, but it is no longer in the configuration. All of its hosts would be reset, and everything in its etcd lost. "+
				"To keep it, restore its blocks. To destroy it run\n\n  kubewright destroy -target=%s\n\nor write where its block was\n\n"+
				"  removed {\n    from = %s\n  }\n\nTo forget it and leave its hosts as they are, add lifecycle { destroy = false } to that.",
			r.Target.Name, r.Target, r.Target).For(r.Target))
	}
	return diags
}

// countWhole finds out which of the clusters that are taken apart go with all of
// their nodes, whatever has chosen these, and of which some are left: a cluster
// goes, and is counted, once.
func countWhole(v *topology.Fleet, p *planner.Plan) {
	if v.Recorded == nil {
		return
	}
	for i := range p.Resources {
		r := &p.Resources[i]
		if r.Target.Type != state.TypeCluster || !v.Destroy && r.Action != planner.Delete {
			continue
		}
		goes, left := false, []string{}
		for t, n := range v.Recorded.Nodes {
			switch {
			case n.Cluster != r.Target.Name:
			case v.Forgets(t) || p.Step(topology.StepAddress(t, topology.ResetPhase)) != nil:
				goes = true
			default:
				left = append(left, t.String())
			}
		}
		if goes || len(left) == 0 && namesAlone(v, p, r.Target) {
			r.Action = planner.Delete // whatever chose the nodes
		}
		if r.Action == planner.Delete && len(left) > 0 {
			slices.Sort(left)
			r.Partly, r.Note = true, "all but "+strings.Join(left, ", ")
		}
	}
}

// namesAlone reports whether a destroy is restricted to this cluster and others, and leaves out
// nothing: of one whose nodes have all left there is no step that would tell.
func namesAlone(v *topology.Fleet, p *planner.Plan, cluster state.Target) bool {
	return v.Destroy && len(p.Excluded)+len(p.SkippedPhases) == 0 && slices.Contains(p.Targets, cluster.String())
}

// insteadOfPart says how single nodes are taken out of a cluster, and how all of it goes.
func insteadOfPart(v *topology.Fleet, label string) string {
	const leave = "it evicts their pods, removes their members from etcd while quorum holds, and resets their hosts. To destroy the whole cluster, "
	if v.Destroy {
		return "To remove single nodes from a cluster that stays, remove them from the configuration and run kubewright apply: " +
			leave + fmt.Sprintf("use -target=%s.", state.ClusterTarget(label))
	}
	return "The configuration has no control plane of it any more, so that the whole cluster is destroyed. " +
		"To remove single nodes from a cluster that stays, restore its blocks, leave out only those of these nodes, and run kubewright apply: " +
		leave + fmt.Sprintf("run kubewright destroy -target=%s.", state.ClusterTarget(label))
}

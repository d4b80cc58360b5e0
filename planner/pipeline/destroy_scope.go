package pipeline

import (
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// refusePartial refuses -target or -exclude if they select only some nodes of a cluster that is removed
// as a whole: by a destroy, or because its blocks are gone. Such nodes are neither drained nor removed
// from etcd, and the others would be left with a cluster that still counts on them. Unreachable hosts
// do not count as left out.
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

// refuseUnasked refuses to destroy a cluster only because it is missing in the configuration, as after
// a lost file or in another branch: the content of its etcd would be lost. The removal of a single node
// loses nothing of that.
func refuseUnasked(v *topology.Fleet, p *planner.Plan) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, r := range p.Resources {
		asked := v.Destroy || slices.ContainsFunc(v.Config.Removals, func(m config.Removal) bool { return m.Destroy && m.From == r.Target })
		if r.Target.Type != state.TypeCluster || r.Action != planner.Delete || asked {
			continue
		}
		diags = append(diags, diag.Errorf("Cluster would be destroyed",
			"The state records cluster %q, but it is no longer in the configuration. All of its hosts would be reset, and everything in its etcd lost. "+
				"To keep it, restore its blocks. To destroy it run\n\n  %s\n\nor write where its block was\n\n"+
				"  removed {\n    from = %s\n  }\n\nTo forget it and leave its hosts as they are, add lifecycle { destroy = false } to that.",
			r.Target.Name, remedy.Destroy.With(remedy.Only.Of(r.Target)), r.Target).For(r.Target))
	}
	return diags
}

// countWhole returns the plan with what it says about destroyed clusters. It determines which of the destroyed clusters lose all of their nodes, however these were
// selected, and of which some nodes are left: each cluster is counted once.
func countWhole(v *topology.Fleet, p *planner.Plan) *planner.Plan {
	if v.Recorded == nil {
		return p
	}
	return p.WithResources(func(r planner.ResourceChange) planner.ResourceChange {
		if r.Target.Type != state.TypeCluster || !v.Destroy && r.Action != planner.Delete {
			return r
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
			r.Action = planner.Delete // regardless of how the nodes were selected
		}
		if r.Action == planner.Delete && len(left) > 0 {
			slices.Sort(left)
			r.Partly, r.Note = true, "all but "+strings.Join(left, ", ")
		}
		if r.Action == planner.Delete {
			r.Loses = loss(v, r.Target.Name)
		}
		return r
	})
}

// loss returns what ends with a cluster; nil for nothing, as of a cluster that no apply has seen
// running.
func loss(v *topology.Fleet, label string) *planner.Loss {
	if r := v.ClusterReports[label]; r != nil && r.Losses != nil {
		if r.Losses.IsZero() {
			return nil
		}
		return &planner.Loss{Losses: *r.Losses}
	}
	if rec := v.Recorded.Clusters[label]; rec == nil || rec.Version == "" {
		return nil
	}
	return &planner.Loss{Unobserved: true}
}

// namesAlone reports whether a destroy is restricted to this cluster and others, and excludes nothing:
// for a cluster without nodes there is no step that would show it.
func namesAlone(v *topology.Fleet, p *planner.Plan, cluster state.Target) bool {
	return v.Destroy && len(p.Excluded)+len(p.SkippedPhases) == 0 && slices.Contains(p.Targets, cluster.String())
}

// insteadOfPart says how to remove single nodes from a cluster, and how to destroy all of it.
func insteadOfPart(v *topology.Fleet, label string) remedy.Text {
	const leave = "it evicts their pods, removes their members from etcd while quorum holds, and resets their hosts. To destroy the whole cluster, "
	only := remedy.Only.Of(state.ClusterTarget(label))
	if v.Destroy {
		return remedy.Textf("To remove single nodes from a cluster that stays, remove them from the configuration and run %s: "+
			leave+"use %s.", remedy.Apply, only)
	}
	return remedy.Textf("The configuration has no control plane of it any more, so that the whole cluster is destroyed. "+
		"To remove single nodes from a cluster that stays, restore its blocks, leave out only those of these nodes, and run %s: "+
		leave+"run %s.", remedy.Apply, remedy.Destroy.With(only))
}

package pipeline

import (
	"maps"
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// setAside returns the fleet without clusters that are not fully observed, because one of their hosts did
// not answer, and that -target does not select: a plan for another cluster neither depends on them nor
// touches them. The state of them stays as it is.
func setAside(v *topology.Fleet, targets []planner.Selector) (*topology.Fleet, diag.Diagnostics) {
	if len(targets) == 0 {
		return v, nil
	}
	var diags diag.Diagnostics
	aside := map[string]bool{}
	for _, t := range slices.SortedFunc(maps.Keys(v.Unobserved), topology.CompareTargets) {
		label := labelOf(v, t)
		if label == "" || aside[label] || reaches(v, targets, label) {
			continue
		}
		aside[label] = true
		diags.Append(diag.Warningf("Cluster skipped: not fully observed", "Cluster %q was not fully observed (%s: %s). It is not among the targets, "+
			"so nothing is planned for it, and its other hosts are left as they are.",
			label, t, v.Unobserved[t].Reason).For(state.ClusterTarget(label)))
	}
	if len(aside) == 0 {
		return v, nil
	}
	return without(v, aside), diags
}

// labelOf returns the cluster of a node, according to the configuration or the state.
func labelOf(v *topology.Fleet, t state.Target) string {
	for _, n := range v.Config.Nodes {
		if n.Target == t {
			return n.Cluster
		}
	}
	if v.RecordedNode(t) {
		return v.Recorded.Nodes[t].Cluster
	}
	return ""
}

// reaches reports whether a selector or a flag matches something in a cluster.
func reaches(v *topology.Fleet, targets []planner.Selector, label string) bool {
	all := []state.Target{state.ClusterTarget(label)}
	if c := v.Config.Cluster(label); c != nil {
		for _, a := range c.Addons {
			all = append(all, state.AddonTarget(label, a.Name))
		}
	}
	for _, n := range v.Config.Nodes {
		if n.Cluster == label {
			all = append(all, n.Target)
		}
	}
	if v.Recorded != nil {
		for t, n := range v.Recorded.Nodes {
			if n.Cluster == label {
				all = append(all, t)
			}
		}
		for _, it := range v.Recorded.Items {
			if t := it.Address.Target; t.Type == state.TypeAddon && t.Name == label {
				all = append(all, t)
			}
		}
	}
	return slices.ContainsFunc(all, func(t state.Target) bool {
		asked := slices.Contains(v.Replace, t) || slices.Contains(v.ForgetUnreachable, t) ||
			slices.ContainsFunc(v.Rotate, func(r topology.Rotation) bool { return r.Cluster == t })
		return asked || slices.ContainsFunc(targets, func(s planner.Selector) bool {
			return s.Matches(state.Address{Target: t, Phase: s.Phase, Waypoint: s.Waypoint})
		})
	})
}

// without returns the fleet without the given clusters.
func without(v *topology.Fleet, labels map[string]bool) *topology.Fleet {
	gone := func(t state.Target) bool {
		return t.Type != state.TypeNode && labels[t.Name] || labels[labelOf(v, t)]
	}
	cfg := *v.Config
	cfg.Clusters = slices.DeleteFunc(slices.Clone(cfg.Clusters), func(c *config.Cluster) bool { return labels[c.Label] })
	cfg.Nodes = slices.DeleteFunc(slices.Clone(cfg.Nodes), func(n *config.Node) bool { return labels[n.Cluster] })
	reports, unobserved := maps.Clone(v.Reports), maps.Clone(v.Unobserved)
	maps.DeleteFunc(reports, func(t state.Target, _ *state.Report) bool { return gone(t) })
	maps.DeleteFunc(unobserved, func(t state.Target, _ state.Unobserved) bool { return gone(t) })
	recorded := v.Recorded
	if recorded != nil {
		st := *recorded
		st.Nodes, st.Clusters = maps.Clone(st.Nodes), maps.Clone(st.Clusters)
		maps.DeleteFunc(st.Nodes, func(t state.Target, _ *state.RecordedNode) bool { return gone(t) })
		maps.DeleteFunc(st.Clusters, func(label string, _ *state.RecordedCluster) bool { return labels[label] })
		st.Items = slices.DeleteFunc(slices.Clone(st.Items), func(i state.Item) bool { return gone(i.Address.Target) })
		st.Unseen = slices.DeleteFunc(slices.Clone(st.Unseen), func(step string) bool {
			a, err := state.ParseAddress(step)
			return err == nil && gone(a.Target)
		})
		recorded = &st
	}
	return topology.WithHosts(v.WithConfig(&cfg), reports, unobserved).WithState(recorded, v.Imported)
}

package resolve

import (
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// NewFleet joins the configuration with the observation of a fleet.
func NewFleet(v *topology.Fleet) *topology.Fleet { return With(v, v.Config, nil) }

// With returns the fleet with another configuration of the same clusters and the same observation:
// what would be planned for it. change returns the situation there of the cluster at a place; without
// it the situations are unknown.
func With(v *topology.Fleet, cfg *config.Config, change func(place int, of topology.Situation) topology.Situation) *topology.Fleet {
	out := *v
	out.Config, out.Clusters, out.RecordedItems, out.Cache = cfg, nil, recordedItems(v.WithConfig(cfg)), topology.NewCache()
	for i, c := range cfg.Clusters {
		cl := &topology.Cluster{
			Cluster: c, Fleet: &out, Target: state.ClusterTarget(c.Label), Report: v.ClusterReports[c.Label],
			Places: map[state.Target]int{}, Authorities: authoritiesOf(c), Shared: c, Seen: v.ClusterReports[c.Label],
		}
		if v.Original != nil {
			cl.Seen = v.Original[c.Label]
		}
		for _, role := range []config.Role{config.ControlPlane, config.Worker} {
			for _, n := range cfg.NodesOf(c.Label, role) {
				cl.Places[n.Target] = len(cl.Nodes)
				cl.Nodes = append(cl.Nodes, node(&out, cl, n))
			}
		}
		cl.Shared = clusterIgnore(cl)
		if change != nil {
			cl.Situation = change(i, v.Clusters[i].WithStages(nil))
		}
		if cl.Void {
			cl.Report = nil
		}
		out.Clusters = append(out.Clusters, cl)
	}
	return &out
}

// recordedItems returns the items of the state, except those of nodes that are replaced or return.
func recordedItems(v *topology.Fleet) *state.Snapshot {
	out := &state.Snapshot{}
	if v.Recorded != nil {
		back := v.Returning()
		out.Items = slices.DeleteFunc(slices.Clone(v.Recorded.Items), func(i state.Item) bool {
			return v.Replaces(i.Address.Target) || slices.Contains(back, i.Address.Target)
		})
		out.Sort()
	}
	return out
}

func node(v *topology.Fleet, c *topology.Cluster, n *config.Node) *topology.Node {
	return nodeIgnore(&topology.Node{Node: n, Cluster: c, Settings: c.Cluster, Report: v.Report(n.Target), NodeName: v.NameOf(n.Target, n.Name)})
}

// WithOtherSecrets returns the fleet of the counterpart configuration with other secrets; nil if
// there are none.
func WithOtherSecrets(v *topology.Fleet) *topology.Fleet {
	cfg := v.Config.WithOtherSecrets()
	if cfg == nil {
		return nil
	}
	return With(v, cfg, func(_ int, of topology.Situation) topology.Situation { return of })
}

package resolve

import (
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Fleet joins the configuration with the observation. It is called once per plan.
func Fleet(v *topology.Fleet) {
	v.Clusters, v.RecordedItems, v.Cache = nil, &state.Snapshot{}, topology.NewCache()
	if v.Recorded != nil {
		back := v.Returning()
		v.RecordedItems.Items = slices.DeleteFunc(slices.Clone(v.Recorded.Items), func(i state.Item) bool {
			return v.Replaces(i.Address.Target) || slices.Contains(back, i.Address.Target)
		})
		v.RecordedItems.Sort()
	}
	for _, c := range v.Config.Clusters {
		cl := &topology.Cluster{
			Cluster: c, Fleet: v, Target: state.ClusterTarget(c.Label), Report: v.ClusterReports[c.Label],
			ByTarget: map[state.Target]*topology.Node{}, Authorities: authoritiesOf(c), Shared: c, Seen: v.ClusterReports[c.Label],
		}
		if v.Original != nil {
			cl.Seen = v.Original[c.Label]
		}
		for _, role := range []config.Role{config.ControlPlane, config.Worker} {
			for _, n := range v.Config.NodesOf(c.Label, role) {
				cl.Nodes = append(cl.Nodes, node(v, cl, n))
				cl.ByTarget[n.Target] = cl.Nodes[len(cl.Nodes)-1]
			}
		}
		clusterIgnore(cl)
		v.Clusters = append(v.Clusters, cl)
	}
}

func node(v *topology.Fleet, c *topology.Cluster, n *config.Node) *topology.Node {
	return nodeIgnore(&topology.Node{Node: n, Cluster: c, Settings: c.Cluster, Report: v.Report(n.Target), NodeName: v.NameOf(n.Target, n.Name)})
}

// With returns the fleet with another configuration of the same clusters and the same observation:
// what would be planned for it. change returns what differs in the situation of the cluster at a
// place.
func With(v *topology.Fleet, cfg *config.Config, change func(place int, of topology.Situation) topology.Situation) *topology.Fleet {
	out := *v
	out.Config = cfg
	Fleet(&out)
	for i, c := range v.Clusters {
		out.Clusters[i].Situation = change(i, c.Situation)
	}
	return &out
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

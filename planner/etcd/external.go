package etcd

import (
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/preflight"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// ExternalEtcdQuery is what to ask an external etcd for, before a cluster is
// founded on it.
type ExternalEtcdQuery struct {
	Cluster *config.Cluster
	// Via is the control plane through which it is reached.
	Via state.Target
	// Prefix is what the API server's keys begin with.
	Prefix string
}

// ExternalEtcdQueries lists the external etcds on which a cluster is to be
// founded: as far as the state knows no API has served it yet, and its control
// planes are blank or have what an earlier run left that was cut short. Reports are
// those of the hosts that answered.
func ExternalEtcdQueries(cfg *config.Config, recorded *state.State, reports map[state.Target]*state.Report) []ExternalEtcdQuery {
	var out []ExternalEtcdQuery
	for _, c := range cfg.Clusters {
		planes := cfg.NodesOf(c.Label, config.ControlPlane)
		founded := recorded != nil && recorded.Clusters[c.Label] != nil && recorded.Clusters[c.Label].Version != "" || slices.ContainsFunc(planes, func(n *config.Node) bool {
			r := reports[n.Target]
			return r == nil || r.Marks == nil && !topology.Blank(r)
		})
		if c.Etcd.External != nil && !founded && len(planes) > 0 {
			out = append(out, ExternalEtcdQuery{Cluster: c, Via: planes[0].Target, Prefix: preflight.RegistryPrefix(c)})
		}
	}
	return out
}

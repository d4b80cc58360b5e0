package etcd

import (
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/preflight"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// ExternalEtcdQuery is the query of an external etcd before a cluster is bootstrapped on it.
type ExternalEtcdQuery struct {
	Cluster *config.Cluster
	// Via is the control plane through which it is reached.
	Via state.Target
	// Prefix is the prefix of the API server's keys.
	Prefix string
}

// ExternalEtcdQueries lists the external etcds on which a cluster is to be bootstrapped: the state
// records no API that has used it, and the control planes are blank or left by an interrupted run.
// Reports are those of the hosts that answered.
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

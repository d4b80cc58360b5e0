package phases

import (
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state"
)

// draining are the names of the nodes of a cluster that stay, when its version is
// to be another one than an apply has last seen: their pods are looked at, since
// an upgrade drains them.
func draining(cfg *config.Config, recorded *state.State, label string) []string {
	c := cfg.Cluster(label)
	if c == nil || recorded == nil || recorded.Clusters[label] == nil {
		return nil
	}
	if strings.TrimPrefix(recorded.Clusters[label].Version, "v") == c.KubernetesVersion {
		return nil
	}
	var out []string
	for t, n := range recorded.Nodes {
		if n.Cluster == label && slices.ContainsFunc(cfg.Nodes, func(o *config.Node) bool { return o.Target == t }) {
			out = append(out, n.Name)
		}
	}
	slices.Sort(out)
	return out
}

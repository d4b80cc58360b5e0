package drain

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
	"k8s.io/apimachinery/pkg/labels"
)

// Pools returns the pools of the configuration, followed by one without a name for the workers that
// none selects.
func Pools(c *topology.Cluster) []*config.Pool {
	var out []*config.Pool
	for i := range c.Upgrade.Pools {
		out = append(out, &c.Upgrade.Pools[i])
	}
	return append(out, &config.Pool{Pace: c.Upgrade.Pace})
}

// Members sorts workers into pools: each into the first pool that selects it.
func Members(c *topology.Cluster, pools []*config.Pool) map[*config.Pool][]*topology.Node {
	out := map[*config.Pool][]*topology.Node{}
	for _, n := range c.Nodes {
		if n.IsControlPlane() {
			continue
		}
		p := poolOf(pools, n)
		out[p] = append(out[p], n)
	}
	return out
}

// poolOf returns the first pool that selects a worker; the last pool selects all.
func poolOf(pools []*config.Pool, n *topology.Node) *config.Pool {
	return pools[slices.IndexFunc(pools, func(p *config.Pool) bool { return selects(p.Selector, nodeLabels(n)) })]
}

func selects(selector string, of labels.Set) bool {
	s, err := labels.Parse(selector)
	return err == nil && s.Matches(of) // validation has refused invalid selectors
}

// nodeLabels returns the labels of the Node, overlaid with those of the configuration.
func nodeLabels(n *topology.Node) labels.Set {
	out := labels.Set{}
	if n.Cluster.Report != nil {
		maps.Copy(out, n.Cluster.Report.Nodes[n.NodeName].Labels)
	}
	maps.Copy(out, n.Labels)
	return out
}

// MaxUnavailable returns the number of nodes for a number or percentage; a percentage is rounded
// down, and the result is at least 1.
func MaxUnavailable(unavailable string, nodes int) int {
	percent, isPercent := strings.CutSuffix(unavailable, "%")
	n, err := strconv.Atoi(percent)
	if err != nil {
		return 1
	}
	if isPercent {
		n = n * nodes / 100
	}
	return max(n, 1)
}

// MostListed is how many batches, and nodes of a batch, the plan names.
const MostListed = 8

// Names lists nodes by their short names; of many only the first.
func Names(nodes []*topology.Node) string {
	var out []string
	for i, n := range nodes {
		if i == MostListed && len(nodes) > MostListed+1 {
			return strings.Join(out, ", ") + fmt.Sprintf(" and %d more", len(nodes)-MostListed)
		}
		out = append(out, topology.ShortName(n.Target))
	}
	return strings.Join(out, ", ")
}

// ForUpgrade is the purpose of a cordon for an upgrade.
const ForUpgrade = "upgrade"

// ForCommand is the purpose of a cordon that the commands cordon and drain were asked for.
const ForCommand = "command"

// CordonImpact and UncordonImpact are the impacts of steps that only cordon or uncordon a node.
const (
	CordonImpact   = "keeps new pods off the node; those on it stay"
	UncordonImpact = "lets pods in again"
)

// Cordoned reports whether an earlier apply cordoned the node for an upgrade.
func Cordoned(n *topology.Node) bool { return cordonedFor(n, ForUpgrade) }

// WasLeaving reports whether an earlier apply cordoned the node for its removal; it is in the
// configuration again.
func WasLeaving(n *topology.Node) bool { return cordonedFor(n, ForLeaving) }

func cordonedFor(n *topology.Node, purpose string) bool {
	return n.Cluster.Report != nil && n.Cluster.Report.Nodes[n.NodeName].Annotations[planner.CordonAnnotation] == purpose
}

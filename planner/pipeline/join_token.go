package pipeline

import (
	"maps"
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/objects"
	"github.com/kubewright/kubewright/planner/topology"
)

// joinTokens adds the step that deletes leftover join tokens: those of joins that fail in this plan,
// and those of earlier runs.
func joinTokens(b *topology.Builder, c *topology.Cluster) {
	joiners := clusterJoiners(c)
	left := c.Report != nil && len(objects.LeftTokens(c)) > 0
	if len(joiners) == 0 && !left {
		return
	}
	id := objects.TokenCleanup(c)
	s := planner.Step{
		ID: id, Phase: topology.TokenPhase, Target: c.Target, Action: planner.Delete, Via: c.Primary, Finally: len(joiners) > 0,
		Operations: planner.Operations{planner.DeleteJoinTokens{Keep: slices.Sorted(maps.Keys(objects.KeptTokens(c)))}},
	}
	for _, n := range joiners {
		start := topology.StepAddress(n.Target, topology.KubeletStartPhase)
		b.Draft.Closes[id] = append(b.Draft.Closes[id], start)
		b.Draft.Edges[id] = append(b.Draft.Edges[id], start, topology.StepAddress(n.Target, topology.WaitBootstrapPhase))
	}
	b.Draft.Steps = append(b.Draft.Steps, s)
}

package topology

import (
	"maps"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// WithSituations returns the fleet with the situation of each cluster that of returns. Nothing else
// differs, so that what was computed of the configuration and the observation remains valid.
func (v *Fleet) WithSituations(of func(c *Cluster) Situation) *Fleet {
	out := *v
	out.Clusters = make([]*Cluster, len(v.Clusters))
	for i, c := range v.Clusters {
		out.Clusters[i] = c.WithFleet(&out, of(c))
	}
	return &out
}

// WithFleet returns the cluster as part of a fleet, in a situation.
func (c *Cluster) WithFleet(v *Fleet, s Situation) *Cluster {
	out := *c
	out.Fleet, out.Situation = v, s
	if s.Void {
		out.Report = nil
	}
	out.Nodes = make([]*Node, len(c.Nodes))
	for i, n := range c.Nodes {
		out.Nodes[i] = WithCluster(n, &out)
	}
	return &out
}

// WithSituation returns the cluster in another situation. Its fleet still has it as it was.
func (c *Cluster) WithSituation(s Situation) *Cluster { return c.WithFleet(c.Fleet, s) }

// WithCluster returns the node as part of a cluster.
func WithCluster(n *Node, c *Cluster) *Node {
	out := *n
	out.Cluster = c
	return &out
}

// withOwn returns the fleet with clusters that refer to it.
func withOwn(v *Fleet) *Fleet {
	return v.WithSituations(func(c *Cluster) Situation { return c.Situation })
}

// WithRequest returns the fleet with what a run asks for.
func (v *Fleet) WithRequest(r Request) *Fleet {
	out := *v
	out.Request = r
	return withOwn(&out)
}

// WithRefreshOnly returns the fleet with the request to record drift only.
func WithRefreshOnly(v *Fleet) *Fleet {
	r := v.Request
	r.RefreshOnly = true
	return v.WithRequest(r)
}

// WithOptions returns the fleet with the restrictions of a plan.
func WithOptions(v *Fleet, o planner.Options) *Fleet {
	out := *v
	out.Targeted, out.Excluded, out.Skipped = len(o.Targets) > 0, o.Excludes, o.SkipPhases
	return withOwn(&out)
}

// WithRestore returns the fleet while an etcd is being restored.
func WithRestore(v *Fleet) *Fleet {
	out := *v
	out.Restores = true
	return withOwn(&out)
}

// WithConfig returns the observation and the state with another configuration, without clusters.
func (v *Fleet) WithConfig(cfg *config.Config) *Fleet {
	out := *v
	out.Config, out.Clusters = cfg, nil
	return &out
}

// WithState returns the fleet with another state, and what of it import blocks have added.
func (v *Fleet) WithState(recorded *state.State, imported state.Learned) *Fleet {
	out := *v
	out.Recorded, out.Imported = recorded, imported
	return withOwn(&out)
}

// WithHosts returns the fleet with other hosts that answered, and that did not, without clusters.
func WithHosts(v *Fleet, reports map[state.Target]*state.Report, unobserved map[state.Target]state.Unobserved) *Fleet {
	out := *v
	out.Reports, out.Unobserved, out.Clusters = reports, unobserved, nil
	return &out
}

// WithUntrusted returns the fleet with a node whose host counts as not observed because of what it
// reports, without clusters.
func WithUntrusted(v *Fleet, t state.Target, reason string) *Fleet {
	out := *v
	out.Reports, out.Unobserved, out.Untrusted, out.Clusters = maps.Clone(v.Reports), withEntry(v.Unobserved, t, state.Unobserved{Target: t, Reason: reason, Answered: true}), withEntry(v.Untrusted, t, true), nil
	delete(out.Reports, t)
	return &out
}

// withEntry returns a map with one entry more.
func withEntry[K comparable, V any](m map[K]V, key K, value V) map[K]V {
	out := make(map[K]V, len(m)+1)
	maps.Copy(out, m)
	out[key] = value
	return out
}

// WithReplacements returns the fleet with nodes that are removed and join again, without clusters.
func WithReplacements(v *Fleet, of map[state.Target]*Replacement) *Fleet {
	out := *v
	out.Replacements, out.Original, out.OriginalReports, out.Clusters = of, v.ClusterReports, v.Reports, nil
	return &out
}

// WithRemoved returns the fleet with the reports of hosts and clusters as they are after the removal
// of the replaced nodes, without clusters.
func WithRemoved(v *Fleet, reports map[state.Target]*state.Report, clusters map[string]*state.ClusterReport) *Fleet {
	out := *v
	out.Reports, out.ClusterReports, out.Clusters = reports, clusters, nil
	return &out
}

// WithRefused returns the fleet with nodes and clusters, by address, whose hosts count as unobserved,
// without clusters.
func WithRefused(v *Fleet, addresses map[string]bool) *Fleet {
	out := *v
	out.Refused, out.Clusters = addresses, nil
	return &out
}

// WithWrites returns the fleet with the operations of a plan that write to hosts.
func WithWrites(v *Fleet, of map[state.Target]planner.Operations) *Fleet {
	out := *v
	out.Writes = of
	return withOwn(&out)
}

// WithFailed returns the fleet with other failing components of each cluster, also at its waypoints
// and in the stages of its rotations.
func (v *Fleet) WithFailed(of func(c *Cluster) map[state.Target][]string) *Fleet {
	return v.WithSituations(func(c *Cluster) Situation { return c.Situation.WithFailed(of(c)).withFailedOnWay() })
}

// withFailedOnWay returns the situation with its failing components at its waypoints and stages.
func (s Situation) withFailedOnWay() Situation {
	if s.Up != nil && len(s.Up.Way) > 0 {
		way := make([]*Waypoint, len(s.Up.Way))
		for i, w := range s.Up.Way {
			way[i] = w.WithFailed(s.Failed)
		}
		s = s.WithUpgrade(s.Up.WithWay(way))
	}
	if len(s.Stages) > 0 {
		stages := make([]*RotationStage, len(s.Stages))
		for i, stage := range s.Stages {
			stages[i] = stage.WithFailed(s.Failed)
		}
		s = s.WithStages(stages)
	}
	return s
}

// WithFailed returns the waypoint with other failing components of its cluster.
func (w *Waypoint) WithFailed(failed map[state.Target][]string) *Waypoint {
	out := *w
	out.Fleet = withFailedAt(w.Fleet, w.Place, failed)
	return &out
}

// WithFailed returns the stage with other failing components of its cluster.
func (s *RotationStage) WithFailed(failed map[state.Target][]string) *RotationStage {
	out := *s
	out.Fleet = withFailedAt(s.Fleet, s.Place, failed)
	return &out
}

// withFailedAt returns the fleet with other failing components of the cluster at a place.
func withFailedAt(v *Fleet, place int, failed map[state.Target][]string) *Fleet {
	return v.WithSituations(func(c *Cluster) Situation {
		if c == v.Clusters[place] {
			return c.Situation.WithFailed(failed)
		}
		return c.Situation
	})
}

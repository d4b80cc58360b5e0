package ownership

import (
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/resolve"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Moves returns the renamings that the configuration's moved blocks request for a state, in an
// order in which they can be made one by one. Targets that were already moved, or never existed,
// need none.
func Moves(cfg *config.Config, recorded *state.State) ([]state.Moved, diag.Diagnostics) {
	if recorded == nil {
		return nil, nil
	}
	m := mover{cfg: cfg, recorded: recorded}
	for label := range recorded.Clusters {
		m.add(state.ClusterTarget(label))
	}
	for t := range recorded.Nodes {
		m.add(t)
	}
	slices.SortFunc(m.moves, func(a, b state.Moved) int { return topology.CompareTargets(a.From, b.From) })
	for _, move := range m.moves {
		m.check(move)
	}
	return m.ordered(), m.diags
}

type mover struct {
	cfg      *config.Config
	recorded *state.State
	moves    []state.Moved
	diags    diag.Diagnostics
}

// known reports whether the state has the target.
func (m *mover) known(t state.Target) bool {
	if t.Type == state.TypeCluster {
		return m.recorded.Clusters[t.Name] != nil
	}
	return m.recorded.Nodes[t] != nil
}

// add follows the moved blocks from a recorded target to its current name. It stops at a name that
// another target still has.
func (m *mover) add(t state.Target) {
	at := t
	for range len(m.cfg.Moves) {
		to, ok := m.next(at)
		if !ok {
			break
		}
		at = to
		if m.known(at) {
			break
		}
	}
	if at != t {
		m.moves = append(m.moves, state.Moved{From: t, To: at})
	}
}

// next returns the new name that a moved block gives a target.
func (m *mover) next(t state.Target) (state.Target, bool) {
	for _, b := range m.cfg.Moves {
		switch {
		case b.From == t:
			return b.To, true
		case config.Covers(b.From, t) && !b.To.Keyed:
			return state.NodeKeyTarget(b.To.Name, t.Key), true
		}
	}
	return state.Target{}, false
}

// check refuses a move to or from a target that stays, and one into another cluster.
func (m *mover) check(move state.Moved) {
	at := state.Source{}
	for _, b := range m.cfg.Moves {
		if config.Covers(b.From, move.From) {
			at = b.Source
		}
	}
	if m.known(move.To) && !slices.ContainsFunc(m.moves, func(o state.Moved) bool { return o.From == move.To }) {
		m.diags.Append(diag.Errorf("Moved onto an existing target", "The state records both %s and %s, so the first cannot become the second. "+
			"Delete the moved block if they are two; forget one of them with a removed block if they are one.", move.From, move.To).At(at).For(move.To))
	}
	if move.From.Type != state.TypeNode {
		return
	}
	taken := slices.ContainsFunc(m.moves, func(o state.Moved) bool { return o.To == move.From })
	if !taken && slices.ContainsFunc(m.cfg.Nodes, func(n *config.Node) bool { return n.Target == move.From }) {
		m.diags.Append(config.StillDeclared(move.From, move.To).At(at).For(move.From))
		return
	}
	cluster := state.ClusterTarget(m.recorded.Nodes[move.From].Cluster)
	for _, o := range m.moves {
		cluster = o.Of(cluster)
	}
	for _, n := range m.cfg.Nodes {
		if n.Target == move.To && n.Cluster != cluster.Name {
			m.diags.Append(diag.Errorf("Moved into another cluster", "%s is a node of cluster %q, and %s is declared for cluster %q. "+
				"A host changes its cluster by leaving one and joining the other: delete the moved block.", move.From, cluster.Name, move.To, n.Cluster).At(at).For(move.To))
		}
	}
}

// ordered sorts moves that free a name before those that need it.
func (m *mover) ordered() []state.Moved {
	var out []state.Moved
	taken := map[state.Target]bool{}
	for _, move := range m.moves {
		taken[move.From] = true
	}
	rest := slices.Clone(m.moves)
	for len(rest) > 0 {
		i := slices.IndexFunc(rest, func(move state.Moved) bool { return !taken[move.To] })
		if i < 0 {
			return out // a cycle of moves is refused with the configuration
		}
		delete(taken, rest[i].From)
		out = append(out, rest[i])
		rest = slices.Delete(rest, i, i+1)
	}
	return out
}

// MovedFrom returns the former names of the targets that this plan moves.
func MovedFrom(v *topology.Fleet) map[state.Target]state.Target {
	out := map[state.Target]state.Target{}
	for _, m := range v.Moved {
		out[m.To] = m.From
	}
	return out
}

// anotherNode refuses a host with the marker of another known node: two blocks have swapped
// addresses, and the files of one host would be overwritten with those of the other.
func anotherNode(n *topology.Node, m *state.Marks) *diag.Diagnostic {
	known := n.Cluster.Fleet.RecordedNode(m.Node) || n.Cluster.Fleet.Find(m.Node) != nil
	if m.Node == n.Target || m.Node.IsZero() || !known {
		return nil
	}
	return diag.Errorf(otherNode, "%s (%s) is marked as %s, which is a node as well. Correct the addresses; if the blocks were renamed, declare that with moved blocks.", n.Target, n.Address, m.Node).At(n.Source).For(n.Target)
}

// renamedCluster reports whether a marker names a cluster that is neither in the state nor in the
// configuration, while the state records the node in this cluster: the cluster was renamed.
func renamedCluster(n *topology.Node, m *state.Marks) bool {
	v := n.Cluster.Fleet
	return v.RecordedNode(n.Target) && v.Recorded.Nodes[n.Target].Cluster == n.Node.Cluster &&
		v.Recorded.Clusters[m.Cluster] == nil && v.Config.Cluster(m.Cluster) == nil
}

// Forgotten returns the recorded targets of removed blocks: their hosts are not observed.
func Forgotten(cfg *config.Config, recorded *state.State) []state.Target {
	v := resolve.NewFleet(&topology.Fleet{Config: cfg, Recorded: recorded})
	return v.Forgotten()
}

// Settled returns what a plan records in the state before its first step: new names, forgotten
// targets, and imports. A refresh-only plan records only new names; a restricted plan leaves
// targets outside of it to a later one.
func Settled(v *topology.Fleet, p *planner.Plan) state.Learned {
	if p.RefreshOnly {
		return state.Learned{Moved: v.Moved}
	}
	stays := map[state.Target]bool{}
	for _, r := range p.Resources {
		stays[r.Target] = r.Action == planner.NoOp
	}
	left := slices.DeleteFunc(v.Forgotten(), func(t state.Target) bool { return stays[t] })
	return state.Learned{Moved: v.Moved, Left: left, Nodes: v.Imported.Nodes, Clusters: v.Imported.Clusters}
}

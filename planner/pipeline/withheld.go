package pipeline

import (
	"fmt"
	"maps"
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/absence"
	"github.com/kubewright/kubewright/planner/ownership"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// apart are the clusters of a fleet that are not planned at all.
type apart struct {
	withheld []state.Unobserved
	// unpermitted are those without which the operator does not permit to apply the plan; refusals say
	// so.
	unpermitted []state.Target
	refusals    diag.Diagnostics
}

// setApart returns the fleet without clusters of which control planes could not be observed without
// the cluster accounting for them: the plans of other clusters neither depend on such a cluster nor touch
// it. A cluster that an option names, and the only one of a fleet, stays and is refused by Situate.
func setApart(v *topology.Fleet, o planner.Options) (*topology.Fleet, apart) {
	if v.Destroy || len(v.Config.Clusters) < 2 || len(v.Unobserved) == 0 {
		return v, apart{}
	}
	out, labels := apart{}, map[string]bool{}
	tried, _, _ := trial(v)
	for _, c := range tried.Clusters {
		silent, doubt := silentNodes(c), doubtOf(c)
		if len(silent) == 0 || doubt == "" || reaches(v, o.Targets, c.Label) {
			continue
		}
		labels[c.Label] = true
		known, u := v.Remembers(c.Label), v.Unobserved[silent[0].Target]
		if !known {
			doubt = "a cluster is bootstrapped only after every control plane was observed to be blank"
		}
		out.withheld = append(out.withheld, state.Unobserved{
			Target: c.Target, Remedy: u.Remedy,
			Reason: fmt.Sprintf("nothing of this cluster is planned: %s; %s: %s", doubt, u.Target, u.Reason),
		})
		if !permitted(v, silent[0].Target) {
			out.unpermitted = append(out.unpermitted, c.Target)
			out.refusals = append(out.refusals, ownership.RefuseSilent(c, silent, known, doubt)...)
		}
	}
	if len(labels) == 0 || len(labels) == len(v.Config.Clusters) {
		return v, apart{}
	}
	return without(v, labels), out
}

// unpermitted returns the hosts without which a plan may only be read.
func unpermitted(v *topology.Fleet) []state.Target {
	var out []state.Target
	for _, u := range leftOut(v) {
		if !permitted(v, u.Target) {
			out = append(out, u.Target)
		}
	}
	return out
}

// assemble assembles the plan of a draft without the steps that wait for missing control planes, and
// without those that would be left half done then.
func assemble(v *topology.Fleet, header planner.Plan, changes, drift []planner.Change, d planner.Draft, o planner.Options) (*planner.Plan, error) {
	d.Withhold, d.Apart = map[state.Address]string{}, map[state.Address]bool{}
	for _, c := range v.Clusters {
		if a := absence.Of(c); a != nil && a.Doubt == "" {
			maps.Copy(d.Withhold, a.Withhold(d.Steps))
			maps.Copy(d.Apart, a.Apart(d.Steps))
		}
	}
	d.WithheldChanges = onMissingHosts(v, changes, o)
	for {
		p, err := planner.Assemble(header, changes, drift, d, o)
		if err != nil {
			return nil, err
		}
		more := halfDone(v, d, p)
		if len(more) == 0 {
			return p, nil
		}
		maps.Copy(d.Withhold, more)
	}
}

// halfDone returns the steps of a plan that are not separated from the withheld ones, by the rule that
// also holds for steps that -exclude leaves out.
func halfDone(v *topology.Fleet, d planner.Draft, p *planner.Plan) map[state.Address]string {
	left := omission{gone: map[state.Address]bool{}, edges: d.Edges}
	for id := range d.Withhold {
		left.gone[id] = true
	}
	for _, w := range p.WithheldSteps {
		left.gone[w.Step] = true
	}
	out := map[state.Address]string{}
	for i := range p.Steps {
		s := &p.Steps[i]
		if d.Apart[s.ID] {
			continue
		}
		var found []violation
		if _, closes := d.Closes[s.ID]; !closes && rests(v, s.ID) {
			found = left.missed(s.ID)
		}
		found = slices.Concat(found, left.unended(s.ID, expiriesOf(v, s)), left.unended(s.ID, leaves(s)), left.written(s))
		if len(found) > 0 {
			out[s.ID] = "waits for " + found[0].gone.String() + ", which is withheld"
		}
	}
	return out
}

// leaves returns the reset for which a step drains a node: a node that stays is not drained.
func leaves(s *planner.Step) []end {
	if s.Phase != topology.DrainPhase {
		return nil
	}
	return []end{{id: topology.StepAddress(s.Target, topology.ResetPhase)}}
}

// onMissingHosts returns what is known of the changes on nodes whose hosts were not observed: those of
// their Node objects, which the API shows, and what all other nodes of the role would get.
func onMissingHosts(v *topology.Fleet, changes []planner.Change, o planner.Options) []planner.WithheldStep {
	if v.Destroy {
		return nil
	}
	var out []planner.WithheldStep
	for _, t := range slices.SortedFunc(maps.Keys(v.Unobserved), topology.CompareTargets) {
		n := v.Find(t)
		if n == nil {
			continue
		}
		by := map[state.Address][]planner.Change{}
		var order []state.Address
		for _, ch := range changes {
			if id := ch.Address.Step(); ch.Address.Target == t && ch.Action != planner.Forget {
				if by[id] == nil {
					order = append(order, id)
				}
				by[id] = append(by[id], ch)
			}
		}
		for _, id := range order {
			out = append(out, planner.WithheldStep{Step: id, Action: by[id][0].Action, Reason: "its host was not observed", Changes: by[id]})
		}
		if likely := asOnOthers(n, changes, o); len(likely) > 0 {
			out = append(out, planner.WithheldStep{
				Step: state.Address{Target: t}, Action: planner.Update, Operations: likely,
				Reason: "its host was not observed; " + others(n) + " of the cluster would get this",
			})
		}
	}
	return out
}

// others names the other nodes with the role of a node.
func others(n *topology.Node) string {
	if n.IsControlPlane() {
		return "every other control plane"
	}
	return "every other worker"
}

// asOnOthers returns the items that would change on every other node with the role of a node.
func asOnOthers(n *topology.Node, changes []planner.Change, o planner.Options) []string {
	if !o.Selects(state.Address{Target: n.Target}) {
		return nil
	}
	peers := map[state.Target]bool{}
	for _, p := range n.Cluster.Nodes {
		if p.Role == n.Role && p.Report != nil && !p.Joins() {
			peers[p.Target] = true
		}
	}
	count := map[string]int{}
	var order []string
	for _, ch := range changes {
		if !peers[ch.Address.Target] || ch.Action == planner.Forget || ch.Address.Waypoint != "" && ch.Address.Phase != topology.HostFilesPhase {
			continue
		}
		what := fmt.Sprintf("%s %s %s", ch.Action, ch.Address.Class(), ch.Address.ID())
		if ch.Kind == state.KindNodeObject { // each has its own name
			what = fmt.Sprintf("%s its Node object", ch.Action)
		}
		if count[what]++; count[what] == 1 {
			order = append(order, what)
		}
	}
	return slices.DeleteFunc(order, func(what string) bool { return count[what] < len(peers) })
}

// withholds reports whether a cluster's block permits plans without hosts that do not answer.
func withholds(v *topology.Fleet, label string) bool {
	c := v.Config.Cluster(label)
	return c != nil && c.OnUnreachable == config.Withhold
}

package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/ownership"
	"github.com/kubewright/kubewright/planner/phases/objects"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// violation is a step that stays in a plan although one is left out without which it
// does harm.
type violation struct {
	stays, gone state.Address
	why         string
}

// restsOn is why a step is not done without one before it.
const restsOn = "depends on %s"

// bearing are the phases on which steps behind them rest. The others may be left
// out: they wait, look, save or mark, or somebody can see to them by other means.
var bearing = []string{
	topology.InstallPhase, topology.CertsPhase, topology.KubeconfigPhase, topology.EtcdPhase, topology.ControlPlanePhase, topology.KubeletStartPhase, topology.WaitBootstrapPhase, topology.TokenPhase, topology.AddonPhase, topology.ResetPhase,
}

// refusePartialPlan refuses a plan that -target, -exclude or -skip-phase would have
// break off in the middle. Three things are not left out alone: what a step of a
// join, an upgrade, a move of the endpoint or a rotation rests on; what ends
// something that another step begins; and a static pod that another step writes.
// What is left out together, as -exclude does with all that waits, is no half: the
// next plan goes on there. A step that takes away what another one has made rests on
// none of those between.
func refusePartialPlan(v *topology.Fleet, d planner.Draft, p *planner.Plan, o planner.Options) diag.Diagnostics {
	if v.Destroy || !p.Restricted() {
		return nil
	}
	left := omission{gone: map[state.Address]bool{}, edges: d.Edges}
	for _, s := range d.Steps {
		left.gone[s.ID] = p.Step(s.ID) == nil
	}
	var found []violation
	for i := range p.Steps {
		s := &p.Steps[i]
		if _, closes := d.Closes[s.ID]; !closes && rests(v, s.ID) {
			found = append(found, left.missed(s.ID)...)
		}
		found = append(found, left.unended(s.ID, expiriesOf(v, s))...)
		if len(o.Targets) == 0 { // a target says itself what is wanted
			found = append(found, left.written(s)...)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return diag.Diagnostics{diag.Errorf("Plan would leave an operation incomplete", "%s would leave out steps on which other steps of the plan depend.\n\n%s\n\n%s",
		strings.Join(ownership.Restrictions(o), " "), describeViolations(found), instead(found, o))}
}

// rests reports whether a step is one of several that go one after another, each in the
// belief that those before it are done.
func rests(v *topology.Fleet, id state.Address) bool {
	if id.Waypoint != "" {
		return true
	}
	c := v.ClusterOf(id.Target)
	if c == nil {
		return false
	}
	n := c.Node(id.Target)
	return c.Up != nil || c.Founding || n != nil && (n.Joins() || v.Replaces(n.Target))
}

// omission are the steps of a draft that are not in its plan.
type omission struct {
	gone  map[state.Address]bool
	edges map[state.Address][]state.Address
}

// missed finds what a step rests on: directly, or through steps that are not
// there either.
func (l omission) missed(id state.Address) []violation {
	var out []violation
	seen := map[state.Address]bool{}
	var visit func(at state.Address)
	visit = func(at state.Address) {
		for _, need := range l.edges[at] {
			gone, drafted := l.gone[need]
			if seen[need] || drafted && !gone {
				continue
			}
			seen[need] = true
			if gone && slices.Contains(bearing, need.Phase) {
				out = append(out, violation{id, need, restsOn})
				continue
			}
			visit(need)
		}
	}
	visit(id)
	return out
}

// end is a step that ends what another one begins.
type end struct {
	id  state.Address
	why string
}

// expiriesOf returns the steps that end what a step begins.
func expiriesOf(v *topology.Fleet, s *planner.Step) []end {
	n := v.Find(s.Target)
	if n == nil {
		return nil
	}
	start := topology.StepAddress(n.Target, topology.KubeletStartPhase)
	switch {
	case s.Phase == topology.DrainPhase && pki.KubeletChanges(n):
		return []end{{start, "evicts the pods, and only %s uncordons the node"}}
	case s.Phase == topology.ResetPhase:
		const again = "removes the node, which is to join again, also by %s"
		return append(joinEnds(n, again), end{start, again})
	case s.ID == start && n.Joins():
		ends := joinEnds(n, "joins the node, which is incomplete without %s")
		if n.Bootstraps() {
			ends = append(ends, end{objects.TokenCleanup(n.Cluster), "joins the node with a token, which only %s deletes if the join fails"})
		}
		return ends
	}
	return nil
}

// joinEnds returns the steps that end what a kubelet begins that joins.
func joinEnds(n *topology.Node, why string) []end {
	return []end{{topology.StepAddress(n.Target, topology.EtcdPhase), why}, {topology.StepAddress(n.Target, topology.ControlPlanePhase), why}, {topology.StepAddress(n.Target, topology.WaitBootstrapPhase), why}}
}

func (l omission) unended(id state.Address, ends []end) []violation {
	var out []violation
	for _, e := range ends {
		if l.gone[e.id] {
			out = append(out, violation{id, e.id, e.why})
		}
	}
	return out
}

// written finds the static pods that a step writes for another one: an API server
// is down while etcd changes, and comes back as it is to be.
func (l omission) written(s *planner.Step) []violation {
	var out []violation
	for _, component := range append([]string{"etcd"}, topology.ControlPlaneVersions...) {
		other := s.ID
		other.Phase = staticpod.PodPhase(component)
		writes := slices.ContainsFunc(s.Operations, func(op planner.Operation) bool {
			return slices.Contains(planner.Overwrites(op), topology.Manifest(component))
		})
		if writes && l.gone[other] && !slices.ContainsFunc(out, func(h violation) bool { return h.gone == other }) {
			out = append(out, violation{s.ID, other, "writes " + topology.Manifest(component) + ", which %s writes as well"})
		}
	}
	return out
}

// violationsNamed is how many halves an error names.
const violationsNamed = 6

func describeViolations(found []violation) string {
	var out []string
	said := map[state.Address]bool{}
	more := 0
	for _, h := range found {
		switch {
		case said[h.stays]:
		case len(said) >= violationsNamed:
			more++
		default:
			out = append(out, "  "+h.stays.String()+" "+fmt.Sprintf(h.why, h.gone))
		}
		said[h.stays] = said[h.stays] || len(said) < violationsNamed
	}
	if more > 0 {
		out = append(out, fmt.Sprintf("  and %d more", more))
	}
	return strings.Join(out, "\n")
}

// instead says which flags leave no half.
func instead(found []violation, o planner.Options) string {
	goes, stays := map[string][]state.Address{}, map[string][]state.Address{}
	for _, h := range found {
		goes[h.gone.Phase] = append(goes[h.gone.Phase], h.gone)
		if h.why != restsOn {
			stays[h.stays.Phase] = append(stays[h.stays.Phase], h.stays)
		}
	}
	if len(o.Targets) > 0 && len(o.SkipPhases) == 0 {
		return "To include these, add " + strings.Join(selectors("-target=", goes, o.Targets), " ") + "."
	}
	maps.Copy(goes, stays)
	return "To leave all of it out for now, so that a later plan continues there: " + strings.Join(selectors("-exclude=", goes, o.Excludes), " ") +
		". Unlike -skip-phase, -exclude leaves out with a step all steps that wait for it."
}

// selectors name the steps of each phase: on one target where those that are given
// refer to one.
func selectors(flag string, steps map[string][]state.Address, given []planner.Selector) []string {
	var out []string
	for _, phase := range slices.Sorted(maps.Keys(steps)) {
		s := planner.Selector{Phase: phase}
		if len(given) == 1 {
			s.Target = given[0].Target
		}
		out = append(out, flag+ownership.Quoted(s))
	}
	return out
}

package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/ownership"
	"github.com/kubewright/kubewright/planner/phases/objects"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// violation is a step that stays in a plan although a step that it must not be separated from is left
// out.
type violation struct {
	stays, gone state.Address
	why         string
}

// restsOn is the reason for a step that depends on an earlier one.
const restsOn = "depends on %s"

// bearing are the phases that later steps depend on. Steps of the other phases may be left out: they
// wait, observe, save or mark something, or an operator can do their work by other means.
var bearing = []string{
	topology.InstallPhase, topology.HostFilesPhase, topology.CertsPhase, topology.KubeconfigPhase, topology.EtcdPhase, topology.ControlPlanePhase, topology.KubeletStartPhase, topology.WaitBootstrapPhase, topology.TokenPhase, topology.AddonPhase, topology.ResetPhase,
}

// refusePartialPlan refuses a plan that -target, -exclude or -skip-phase would interrupt halfway. Three
// things are not left out alone: what a step of a join, an upgrade, a move of the endpoint or a
// rotation depends on; a step that completes what another one begins; and a static pod that another
// step writes. Steps may be left out together, as -exclude does with all that wait for them: the next
// plan continues there. A step that removes what another one created does not depend on the steps
// between the two.
func refusePartialPlan(v *topology.Fleet, d planner.Draft, p *planner.Plan, o planner.Options) diag.Diagnostics {
	if v.Destroy || !p.Restricted() {
		return nil
	}
	left := omission{gone: map[state.Address]bool{}, edges: d.Edges}
	for _, s := range d.Steps {
		withheld := slices.ContainsFunc(p.WithheldSteps, func(w planner.WithheldStep) bool { return w.Step == s.ID })
		left.gone[s.ID] = p.Step(s.ID) == nil && !withheld // assemble leaves nothing half done of those
	}
	var found []violation
	for i := range p.Steps {
		s := &p.Steps[i]
		if _, closes := d.Closes[s.ID]; !closes && rests(v, s.ID) {
			found = append(found, left.missed(s.ID)...)
		}
		found = append(found, left.unended(s.ID, expiriesOf(v, s))...)
		if len(o.Targets) == 0 { // a target names what is to be done
			found = append(found, left.written(s)...)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return diag.Diagnostics{diag.Errorf("Plan would leave an operation incomplete", "%s would leave out steps on which other steps of the plan depend.\n\n%s\n\n%s",
		ownership.Restrictions(o), describeViolations(found), instead(found, o))}
}

// rests reports whether a step is part of a sequence in which each step assumes that the earlier ones
// are done.
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

// omission holds the steps of a draft that are not in its plan.
type omission struct {
	gone  map[state.Address]bool
	edges map[state.Address][]state.Address
}

// missed finds the left-out steps that a step depends on: directly, or through other left-out steps.
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

// end is a step that completes what another one begins.
type end struct {
	id  state.Address
	why string
}

// expiriesOf returns the steps that complete what a step begins.
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

// joinEnds returns the steps that complete the join that a kubelet begins.
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

// written finds the static pods that a step writes for another step: an API server is stopped while
// etcd changes, and starts again with its new manifest.
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

// violationsNamed is how many violations an error lists.
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

// instead says which options leave no operation incomplete.
func instead(found []violation, o planner.Options) remedy.Text {
	goes, stays := map[string][]state.Address{}, map[string][]state.Address{}
	for _, h := range found {
		goes[h.gone.Phase] = append(goes[h.gone.Phase], h.gone)
		if h.why != restsOn {
			stays[h.stays.Phase] = append(stays[h.stays.Phase], h.stays)
		}
	}
	if len(o.Targets) > 0 && len(o.SkipPhases) == 0 {
		return remedy.Textf("To include these, add %s.", selectors(remedy.Only, goes, o.Targets))
	}
	maps.Copy(goes, stays)
	return remedy.Textf("To leave all of it out for now, so that a later plan continues there: %s. Unlike %s, %s leaves out with a step all steps that wait for it.",
		selectors(remedy.Except, goes, o.Excludes), remedy.SkipPhase, remedy.Except)
}

// selectors returns one option for the steps of each phase, restricted to a target if the given selector
// names one.
func selectors(kind remedy.Kind, steps map[string][]state.Address, given []planner.Selector) remedy.Remedy {
	var out []remedy.Option
	for _, phase := range slices.Sorted(maps.Keys(steps)) {
		s := planner.Selector{Phase: phase}
		if len(given) == 1 {
			s.Target = given[0].Target
		}
		out = append(out, kind.Of(s))
	}
	return remedy.With(out...)
}

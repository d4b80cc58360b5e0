package planfile

import (
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// Difference is one thing that is not as it was when a plan was saved.
type Difference struct {
	// Address is of an item or of a step; zero for the plan as a whole.
	Address state.Address
	// What says in a few words what became of it.
	What string
	// Path is the attribute; empty where the whole item or step is meant. Saved
	// and Now are its values then and now.
	Path       string
	Saved, Now state.Value
}

// What became of an item or step.
const (
	// Appeared: it would be changed now, and was not to be then.
	Appeared = "would be changed now as well"
	// Settled: it was to be changed, and is by now as it was to become.
	Settled = "is by now as it was to become"
	// Moved: it has another value than then.
	Moved = "has changed"
	// Otherwise: something else would be done to it.
	Otherwise = "would be changed in another way"
)

// Compare lists what a plan made now does otherwise than a saved one; nothing
// when it is the same plan. Of a saved plan that was carried out in part
// (begun), what is done already is no difference: what is left must be in it.
func Compare(saved, now *planner.Plan, begun bool) []Difference {
	same := *now // who applies may make an exception from a policy, and does the same
	same.OverriddenPolicies = saved.OverriddenPolicies
	if Digest(saved) == Digest(&same) || proves(saved) != proves(&same) && Digest(apartFromProofs(saved)) == Digest(apartFromProofs(&same)) {
		return nil
	}
	then := map[state.Address]planner.Change{}
	for _, c := range saved.Changes {
		then[c.Address] = c
	}
	var out []Difference
	for _, c := range now.Changes {
		was, planned := then[c.Address]
		delete(then, c.Address)
		switch {
		case !planned && begun && c.OnlyRereads() && saved.Step(c.Address.Step()) != nil:
			// The part that was carried out has renewed what the rest is to take up.
		case !planned:
			out = append(out, Difference{Address: c.Address, What: Appeared})
		case begun:
			out = append(out, otherGoal(was, c)...)
		default:
			out = append(out, moved(was, c)...)
		}
	}
	if begun {
		return append(out, strangers(saved, now)...)
	}
	for _, c := range saved.Changes {
		if _, left := then[c.Address]; left {
			out = append(out, Difference{Address: c.Address, What: Settled})
		}
	}
	if len(out) == 0 {
		out = otherSteps(saved, now)
	}
	if len(out) == 0 {
		out = []Difference{{What: Otherwise}} // in order, limits or what is withheld
	}
	return out
}

// moved lists the attributes in which two changes of an item differ.
func moved(was, now planner.Change) []Difference {
	var out []Difference
	before := byPath(was)
	for _, a := range now.Attributes {
		b, planned := before[a.Path]
		delete(before, a.Path)
		switch {
		case !planned:
			out = append(out, Difference{Address: now.Address, What: Moved, Path: a.Path, Saved: a.After, Now: a.Before})
		case !same(b.Before, a.Before):
			out = append(out, Difference{Address: now.Address, What: Moved, Path: a.Path, Saved: b.Before, Now: a.Before})
		case !same(b.After, a.After):
			out = append(out, Difference{Address: now.Address, What: Otherwise, Path: a.Path, Saved: b.After, Now: a.After})
		}
	}
	for _, a := range was.Attributes {
		if _, left := before[a.Path]; left {
			out = append(out, Difference{Address: now.Address, What: Moved, Path: a.Path, Saved: a.Before, Now: a.After})
		}
	}
	if len(out) == 0 && was.Action != now.Action {
		out = append(out, Difference{Address: now.Address, What: Otherwise, Path: "", Saved: state.String(string(was.Action)), Now: state.String(string(now.Action))})
	}
	return out
}

// otherGoal tells that an item would become something else than was saved. What
// it is now is left out, as an earlier part of the plan may have changed it, and
// so is what only that part could tell.
func otherGoal(was, now planner.Change) []Difference {
	goals := byPath(was)
	for _, a := range now.Attributes {
		if b, planned := goals[a.Path]; planned && !b.After.IsPending() && !same(b.After, a.After) {
			return []Difference{{Address: now.Address, What: Otherwise, Path: a.Path, Saved: b.After, Now: a.After}}
		}
	}
	if (was.Action == planner.Delete) != (now.Action == planner.Delete) {
		return []Difference{{Address: now.Address, What: Otherwise, Saved: state.String(string(was.Action)), Now: state.String(string(now.Action))}}
	}
	return nil
}

// same compares values; of a secret that had no fingerprint when the plan was
// made, because there was no state yet, only which one it is.
func same(saved, now state.Value) bool {
	if saved.Kind() == state.KindSensitive && now.Kind() == state.KindSensitive {
		s, n := saved.AsSensitive(), now.AsSensitive()
		return s.Ref == n.Ref && (s.Fingerprint == n.Fingerprint || s.Fingerprint == "")
	}
	return saved.Equal(now)
}

// proves lists the steps of a plan that only prove that something runs, and what.
func proves(p *planner.Plan) string {
	var out []string
	for _, s := range p.Steps {
		if s.OnlyProves() {
			out = append(out, s.ID.String()+" "+s.Impact)
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// apartFromProofs is what a plan changes: without the steps that only prove that
// something runs, which may be so by now or not any more, and without what
// follows from them for the others: their order, and who is said to serve meanwhile.
func apartFromProofs(p *planner.Plan) *planner.Plan {
	out, touched := *p, map[state.Target]bool{}
	out.Steps, out.Quorum, out.Resources = nil, nil, slices.Clone(p.Resources)
	for _, c := range p.Changes {
		touched[c.Address.Target] = true
	}
	for _, s := range p.Steps {
		if s.OnlyProves() {
			continue
		}
		touched[s.Target] = true
		s.Needs, s.Impact = nil, ""
		out.Steps = append(out.Steps, s)
	}
	slices.SortFunc(out.Steps, func(a, b planner.Step) int { return a.ID.Compare(b.ID) })
	for i := range out.Resources {
		r := &out.Resources[i]
		r.Unchanged = 0
		if r.Action == planner.Update && !touched[r.Target] {
			r.Action = planner.NoOp
		}
	}
	return &out
}

// strangers are steps that are not in the saved plan, but for those that only
// prove what is there.
func strangers(saved, now *planner.Plan) []Difference {
	var out []Difference
	for _, s := range now.Steps {
		if saved.Step(s.ID) == nil && !s.OnlyProves() {
			out = append(out, Difference{Address: s.ID, What: Appeared})
		}
	}
	return out
}

// otherSteps names the steps in which two plans with the same changes differ.
func otherSteps(saved, now *planner.Plan) []Difference {
	out := strangers(saved, now)
	for _, s := range saved.Steps {
		n := now.Step(s.ID)
		switch {
		case n == nil && s.OnlyProves():
		case n == nil:
			out = append(out, Difference{Address: s.ID, What: Settled})
		case !slices.Equal(summaries(s), summaries(*n)):
			out = append(out, Difference{Address: s.ID, What: Otherwise})
		case n.Impact != s.Impact: // such as the pods that a drain evicts
			out = append(out, Difference{Address: s.ID, What: Moved, Path: "impact", Saved: state.String(s.Impact), Now: state.String(n.Impact)})
		}
	}
	return out
}

func summaries(s planner.Step) []string {
	var out []string
	for _, op := range s.Operations {
		out = append(out, op.Op()+" "+op.Summary())
	}
	return out
}

func byPath(c planner.Change) map[string]planner.AttributeChange {
	out := map[string]planner.AttributeChange{}
	for _, a := range c.Attributes {
		out[a.Path] = a
	}
	return out
}

package planfile

import (
	"maps"
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
	// Action is what the one plan that refers to it does to an item that is meant as a
	// whole, because all of it has appeared or settled; empty otherwise.
	Action planner.Action
}

// What became of an item or step.
const (
	// Appeared: it would be changed now, and was not to be then.
	Appeared = "would be changed now as well"
	// Settled: it was to be changed, and is by now as it was to become.
	Settled = "is already as planned"
	// Moved: it has another value than then.
	Moved = "has changed"
	// Otherwise: something else would be done to it.
	Otherwise = "would be changed in another way"
)

// Progress is how far a saved plan was carried out before it was cut short.
type Progress struct {
	// Begun are the steps that were begun. What they were to do may be done or not.
	Begun []state.Address
	// Touched tells of an item or a step whether those steps may have changed it.
	Touched func(state.Address) bool
	// Recorded is what the state has of an item; nil where it has nothing.
	Recorded func(state.Address) *state.Item
}

// touched reports whether a difference of an item or step may be the work of what was begun.
func (p *Progress) touched(saved *planner.Plan, a state.Address) bool {
	return p != nil && (p.Touched(a) || p.wrote(saved, a))
}

// wrote reports whether a step which was begun was to write or remove the item itself,
// whichever phase it belongs to: a step that changes etcd stops the API server by
// taking its manifest away, and brings that back.
func (p *Progress) wrote(saved *planner.Plan, a state.Address) bool {
	return p != nil && a.Item != "" && slices.ContainsFunc(p.Begun, func(id state.Address) bool {
		s := saved.Step(id)
		return s != nil && s.Target == a.Target && slices.ContainsFunc(s.Operations, func(op planner.Operation) bool {
			return slices.Contains(planner.Overwrites(op), a.ID())
		})
	})
}

// undone lists what somebody has changed of a file that was brought to its goal: the
// state has it so, and it is neither so any more nor as it was when the plan was saved.
// The state has it only from a look at the hosts, after the steps before it were done:
// of a step that was cut short it knows no goal, and whatever that left is its own. What
// had drifted was recorded as its goal before anything was done, and tells nothing.
func (p *Progress) undone(was, now planner.Change) []Difference {
	recorded := p.recorded(now.Address)
	if recorded == nil || !slices.Contains(writtenKinds, now.Kind) || now.Action != planner.Update || was.Reason == planner.ReasonDrift {
		return nil
	}
	var out []Difference
	before := byPath(was)
	for _, a := range now.Attributes {
		b, planned := before[a.Path]
		then := a.After
		if planned {
			then = b.Before
		}
		if planner.NeverWanted(a.Path) || same(then, a.Before) || !recorded.Attributes.Get(a.Path).Equal(a.After) {
			continue
		}
		out = append(out, Difference{Address: now.Address, What: Moved, Path: a.Path, Saved: then, Now: a.Before})
	}
	return out
}

// writtenKinds are those of which all is as a step writes it. Of other kinds a part
// changes by itself, as whether a unit runs, or a certificate that a kubelet renews.
var writtenKinds = []state.Kind{state.KindFile, state.KindYAMLFile, state.KindEnvFile, state.KindStaticPod}

func (p *Progress) recorded(a state.Address) *state.Item {
	if p.Recorded == nil {
		return nil
	}
	return p.Recorded(a)
}

// owes reports whether a change of which the saved plan says nothing is the saved plan's
// own all the same: to bring back what a step has taken away and was to bring back, or
// to have a static pod reread what was renewed for it.
func (p *Progress) owes(saved *planner.Plan, c planner.Change) bool {
	return p != nil && (c.Action == planner.Create && p.wrote(saved, c.Address) ||
		c.OnlyRereads() && saved.Step(c.Address.Step()) != nil)
}

// Compare lists what a plan made now does otherwise than a saved one; nothing
// when it is the same plan. Of a saved plan that was carried out in part, progress
// is how far, and nil of one that was not begun. What that part may have changed has
// to have the same goal, however it is now; what is done of it is no difference.
// Everything else has to be as it was when the plan was saved: what is not is
// somebody else's.
func Compare(saved, now *planner.Plan, progress *Progress) []Difference {
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
	owed := map[state.Address]bool{}
	for _, c := range now.Changes {
		was, planned := then[c.Address]
		delete(then, c.Address)
		switch {
		case !planned && progress.owes(saved, c):
			owed[c.Address.Step()] = true
		case !planned:
			out = append(out, appeared(saved, c)...)
		case progress.touched(saved, c.Address):
			out = append(out, otherGoal(was, c)...)
			out = append(out, progress.undone(was, c)...)
		default:
			out = append(out, moved(was, c, progress != nil)...)
		}
	}
	leaves := progress != nil && Leaves(saved, now) // what cannot be observed is not done now, and may be later
	for _, c := range saved.Changes {
		if _, left := then[c.Address]; left && !leaves && !progress.touched(saved, c.Address) {
			out = append(out, settled(c)...)
		}
	}
	out = append(out, otherGround(saved, now, progress)...)
	if progress != nil {
		return append(out, otherWork(saved, now, progress, owed)...)
	}
	if len(out) == 0 {
		out = otherSteps(saved, now)
	}
	if len(out) == 0 {
		out = []Difference{{What: Otherwise}} // in order, limits or what is withheld
	}
	return out
}

// Leaves reports whether a plan made now cannot do all of a saved one, because it leaves out
// what could be observed then.
func Leaves(saved, now *planner.Plan) bool {
	return slices.ContainsFunc(now.Withheld, func(u state.Unobserved) bool { return !withheld(saved, u.Target) })
}

func withheld(p *planner.Plan, t state.Target) bool {
	return slices.ContainsFunc(p.Withheld, func(u state.Unobserved) bool { return u.Target == t })
}

// appeared lists what became of an item that nothing was to be done about: it was as
// it is to be, unless nobody could look at it. In a cluster that could not be looked
// at that may be what it has of a node as well.
func appeared(saved *planner.Plan, now planner.Change) []Difference {
	whole := []Difference{{Address: now.Address, What: Appeared}}
	if slices.ContainsFunc(saved.Withheld, func(u state.Unobserved) bool {
		return u.Target == now.Address.Target || u.Target.Type == state.TypeCluster
	}) {
		return whole
	}
	if whole[0].Action = now.Action; now.Action != planner.Update || len(now.Attributes) == 0 {
		return whole
	}
	var out []Difference
	for _, a := range now.Attributes {
		out = append(out, Difference{Address: now.Address, What: Appeared, Path: a.Path, Saved: a.After, Now: a.Before})
	}
	return out
}

// settled lists what became of an item that was to be changed and is as it was to become.
func settled(was planner.Change) []Difference {
	if was.Action != planner.Update || len(was.Attributes) == 0 {
		return []Difference{{Address: was.Address, What: Settled, Action: was.Action}}
	}
	var out []Difference
	for _, a := range was.Attributes {
		out = append(out, Difference{Address: was.Address, What: Settled, Path: a.Path, Saved: a.Before, Now: a.After})
	}
	return out
}

// moved lists the attributes in which two changes of an item differ. Once a part of
// the plan was carried out (begun) that may have told what was not known before, and
// may have renewed what the item is to take up.
func moved(was, now planner.Change, begun bool) []Difference {
	var out []Difference
	before := byPath(was)
	for _, a := range now.Attributes {
		b, planned := before[a.Path]
		delete(before, a.Path)
		switch {
		case !planned && begun && planner.NeverWanted(a.Path):
		case !planned:
			out = append(out, Difference{Address: now.Address, What: Moved, Path: a.Path, Saved: a.After, Now: a.Before})
		case !same(b.Before, a.Before):
			out = append(out, Difference{Address: now.Address, What: Moved, Path: a.Path, Saved: b.Before, Now: a.Before})
		case !same(b.After, a.After) && !(begun && b.After.IsPending()):
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

// otherGoal reports whether an item would become something else than was saved. What
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

// apartFromProofs returns what a plan changes: without the steps that only prove that
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
		r.Unchanged, r.There = 0, nil
		if r.Action == planner.Update && !touched[r.Target] {
			r.Action = planner.NoOp
		}
	}
	return &out
}

// strangers are steps that are not in the saved plan, but for those that only
// prove what is there.
func strangers(saved, now *planner.Plan) []planner.Step {
	return slices.DeleteFunc(slices.Clone(now.Steps), func(s planner.Step) bool { return saved.Step(s.ID) != nil || s.OnlyProves() })
}

// otherGround lists what steps of both plans rest on and what is another by now.
func otherGround(saved, now *planner.Plan, progress *Progress) []Difference {
	var out []Difference
	for _, s := range saved.Steps {
		n := now.Step(s.ID)
		if n == nil || progress.touched(saved, s.ID) {
			continue
		}
		all := maps.Clone(n.RestsOn)
		if all == nil {
			all = map[string]state.Value{}
		}
		maps.Copy(all, s.RestsOn)
		for _, path := range slices.Sorted(maps.Keys(all)) {
			if then, by := s.RestsOn[path], n.RestsOn[path]; !then.Equal(by) {
				out = append(out, Difference{Address: s.ID, What: Moved, Path: path, Saved: then, Now: by})
			}
		}
	}
	return out
}

// otherWork names the steps that are not in a saved plan which goes on, unless they
// are the rest of it: they do what is owed, or have what was renewed taken up by what
// the saved plan restarts there as well, at whichever waypoint. What steps change was
// compared before; which of them restarts what depends on how far the others came.
func otherWork(saved, now *planner.Plan, progress *Progress, owed map[state.Address]bool) []Difference {
	var out []Difference
	for _, s := range strangers(saved, now) {
		planned := slices.ContainsFunc(saved.Steps, func(o planner.Step) bool { return o.Target == s.Target && o.ID.Phase == s.ID.Phase })
		if !planned && !owed[s.ID] && !progress.touched(saved, s.ID) {
			out = append(out, Difference{Address: s.ID, What: Appeared})
		}
	}
	return out
}

// otherSteps names the steps in which two plans with the same changes differ.
func otherSteps(saved, now *planner.Plan) []Difference {
	var out []Difference
	for _, s := range strangers(saved, now) {
		out = append(out, Difference{Address: s.ID, What: Appeared})
	}
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

package planfile

import (
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// Difference is one difference between a saved plan and one made later.
type Difference struct {
	// Address is the address of an item or a step; zero for the plan as a whole.
	Address state.Address
	// What says in a few words what has changed.
	What string
	// Path is the attribute; empty for the whole item or step. Saved and Now are its values in the
	// saved plan and now.
	Path       string
	Saved, Now state.Value
	// Action is what the only plan with a change of the item does to it, if the item as a whole has
	// appeared or settled; empty otherwise.
	Action planner.Action
}

// The kinds of differences of an item or step.
const (
	// Appeared: the item would be changed now, and the saved plan did not change it.
	Appeared = "would be changed now as well"
	// Settled: the saved plan changed the item, which already is as planned.
	Settled = "is already as planned"
	// Moved: the item has another value than when the plan was saved.
	Moved = "has changed"
	// Otherwise: the item would be changed in another way.
	Otherwise = "would be changed in another way"
)

// Progress is how far a saved plan was carried out before it was interrupted.
type Progress struct {
	// Begun are the steps that were begun. Their operations may be done or not.
	Begun []state.Address
	// Touched reports whether those steps may have changed an item or step.
	Touched func(state.Address) bool
	// Recorded returns the recorded item; nil if the state has none.
	Recorded func(state.Address) *state.Item
}

// touched reports whether a difference of an item or step may result from the begun steps.
func (p *Progress) touched(saved *planner.Plan, a state.Address) bool {
	return p != nil && (p.Touched(a) || p.wrote(saved, a))
}

// wrote reports whether a begun step writes or removes the item itself, whichever phase it belongs
// to: a step that changes etcd stops the API server by removing its manifest, and later restores
// it.
func (p *Progress) wrote(saved *planner.Plan, a state.Address) bool {
	return p != nil && a.Item != "" && slices.ContainsFunc(p.Begun, func(id state.Address) bool {
		s := saved.Step(id)
		return s != nil && s.Target == a.Target && slices.ContainsFunc(s.Operations, func(op planner.Operation) bool {
			return slices.Contains(planner.Overwrites(op), a.ID())
		})
	})
}

// undone lists what was changed outside of kubewright in a file that had already reached its goal:
// the state records the goal, and the file matches neither that nor its value when the plan was
// saved. The state records it only from an observation after earlier steps were done: for an
// interrupted step it records no goal, and whatever that step left is its own. A drifted item was
// recorded with its goal before anything was done, so its record shows nothing.
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

// writtenKinds are the kinds of items that only change when a step writes them. Others change by
// themselves in part, such as whether a unit runs, or a certificate that a kubelet renews.
var writtenKinds = []state.Kind{state.KindFile, state.KindYAMLFile, state.KindEnvFile, state.KindStaticPod}

func (p *Progress) recorded(a state.Address) *state.Item {
	if p.Recorded == nil {
		return nil
	}
	return p.Recorded(a)
}

// owes reports whether a change that the saved plan does not have still belongs to it: restoring an
// item that a step has removed and was going to restore, or making a static pod reread a renewed
// file.
func (p *Progress) owes(saved *planner.Plan, c planner.Change) bool {
	return p != nil && (c.Action == planner.Create && p.wrote(saved, c.Address) ||
		c.OnlyRereads() && saved.Step(c.Address.Step()) != nil)
}

// Compare lists what a plan made now does differently from a saved one; nothing if it is the same
// plan. For a saved plan that was partly carried out, progress says how far; it is nil for one that
// was not begun. Items that the begun steps may have changed must have the same goal, whatever
// their current value; finished work is no difference. Everything else must be as when the plan was
// saved: any other change was made outside of the plan.
func Compare(saved, now *planner.Plan, progress *Progress) []Difference {
	same := *now // overriding a policy does not change what the plan does
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
	leaves := progress != nil && Leaves(saved, now) // targets that cannot be observed now may be done later
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
		out = []Difference{{What: Otherwise}} // in order, limits or withheld targets
	}
	return out
}

// Leaves reports whether a plan made now cannot do all of a saved one, because it withholds targets
// that could be observed then.
func Leaves(saved, now *planner.Plan) bool {
	return slices.ContainsFunc(now.Withheld, func(u state.Unobserved) bool { return !withheld(saved, u.Target) })
}

func withheld(p *planner.Plan, t state.Target) bool {
	return slices.ContainsFunc(p.Withheld, func(u state.Unobserved) bool { return u.Target == t })
}

// appeared lists the differences of an item that the saved plan did not change: it was as desired,
// unless it could not be observed. If a cluster could not be observed, that includes its view of a
// node.
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

// settled lists the differences of an item that the saved plan changed and that already is as
// planned.
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

// moved lists the attributes in which two changes of an item differ. Once a part of the plan was
// carried out (begun), that part may have revealed values that were unknown before, and may have
// renewed files that the item has to pick up.
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

// otherGoal lists the difference if an item has another goal than in the saved plan. It ignores the
// current value, which an earlier part of the plan may have changed, and values that only that part
// could reveal.
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

// same compares values. For a secret without a fingerprint in the saved plan, because there was no
// state yet, it compares only the reference.
func same(saved, now state.Value) bool {
	if saved.Kind() == state.KindSensitive && now.Kind() == state.KindSensitive {
		s, n := saved.AsSensitive(), now.AsSensitive()
		return s.Ref == n.Ref && (s.Fingerprint == n.Fingerprint || s.Fingerprint == "")
	}
	return saved.Equal(now)
}

// proves lists the steps of a plan that only wait until components run, with their impacts.
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

// apartFromProofs returns what a plan changes: without the steps that only wait until components
// run, which may have become unnecessary or necessary meanwhile, and without what they imply for
// other steps: their order, and the control planes that serve meanwhile.
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
		r := out.Resources[i]
		r.Unchanged, r.There = 0, nil
		if r.Action == planner.Update && !touched[r.Target] {
			r.Action = planner.NoOp
		}
		out.Resources[i] = r
	}
	return &out
}

// strangers returns the steps that are not in the saved plan, except those that only wait.
func strangers(saved, now *planner.Plan) []planner.Step {
	return slices.DeleteFunc(slices.Clone(now.Steps), func(s planner.Step) bool { return saved.Step(s.ID) != nil || s.OnlyProves() })
}

// otherGround lists the preconditions of steps in both plans that have changed.
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

// otherWork lists the steps that are not in an interrupted saved plan, except for those that belong
// to its rest: they do what it owes, or make components pick up renewed files that the saved plan
// restarts on the same target, at any waypoint. The changes of steps were compared before; which
// step restarts what depends on the progress of the others.
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

// otherSteps lists the steps in which two plans with the same changes differ.
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

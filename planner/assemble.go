package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/state"
)

// Draft is what the phases contribute to a plan: the steps that have work to do, and how all steps
// depend on one another.
type Draft struct {
	Steps []Step
	// Edges are the needs of every step that could exist, including steps without work: the order
	// of the others follows through them.
	Edges map[state.Address][]state.Address
	// Turns are edges that only order steps: when a step is left out, the steps that waited for
	// their turn after it run without it.
	Turns map[state.Address][]state.Address
	// Closes maps a closing step to the steps that it cleans up after: they create something that
	// it removes, or make ready the node that it uncordons. The closing step is in a partial plan
	// whenever one of them is, whatever else it needs.
	Closes map[state.Address][]state.Address
	// Serves marks steps that exist only for the steps that need them, such as the snapshot before
	// a member is removed: a partial plan without those has no use for it.
	Serves map[state.Address]bool
	// Limits bounds steps by name.
	Limits map[string]int
	// Resources lists clusters, nodes and addons in display order.
	Resources []ResourceChange
	Quorum    []string
	// Remarks are sentences that are added to Quorum when their step is in the plan.
	Remarks   []Remark
	Rotations []string
	Withheld  []state.Unobserved
	// Withhold are steps that wait for a missing host, with a clause each that says why.
	Withhold map[state.Address]string
	// Apart are steps that stay in the plan although steps that they need are withheld: what they
	// need is there already.
	Apart map[state.Address]bool
	// WithheldChanges is other work that waits for a missing host, for which there is no step.
	WithheldChanges []WithheldStep
}

// Remark is a sentence about what a step does.
type Remark struct {
	Step state.Address
	Text string
}

// Selector restricts a plan to a target, a phase, or a phase on a target.
type Selector struct {
	// Target is zero for every target.
	Target state.Target
	// Phase is empty for every phase, Waypoint for every waypoint of a phase.
	Phase, Waypoint string
	// Part is a part of the phase, as PHASE/PART; empty for all of it. It selects the whole step,
	// from which the other parts were left out.
	Part string
	// Members are the nodes selected along with Target: those of a cluster that is destroyed as a
	// whole.
	Members []state.Target
}

// Matches reports whether the step with the address is selected. A cluster also selects its addons,
// and a node block each of its nodes.
func (s Selector) Matches(step state.Address) bool {
	if s.Phase != "" && s.Phase != step.Phase || s.Waypoint != "" && s.Waypoint != step.Waypoint {
		return false
	}
	return s.Target.IsZero() || s.Target == step.Target || slices.Contains(s.Members, step.Target) ||
		s.Target.Type == state.TypeCluster && step.Target.Type == state.TypeAddon && step.Target.Name == s.Target.Name ||
		s.Target.Type == state.TypeNode && !s.Target.Keyed && step.Target.Type == state.TypeNode && step.Target.Name == s.Target.Name
}

// String returns the selector as the user writes it: an address or the name of a phase.
func (s Selector) String() string {
	switch {
	case s.Part != "" && s.Target.IsZero():
		return s.Part
	case s.Part != "":
		return s.Target.String() + "/" + s.Part
	case s.Target.IsZero() && s.Waypoint != "":
		return s.Phase + "@" + s.Waypoint
	case s.Target.IsZero():
		return s.Phase
	case s.Phase == "":
		return s.Target.String()
	}
	return state.Address{Target: s.Target, Phase: s.Phase, Waypoint: s.Waypoint}.String()
}

// ParseSelector parses the argument of -target: an address of a target or step, or the name of a
// phase, with @WAYPOINT for only that waypoint.
func ParseSelector(s string, phases []string) (Selector, error) {
	if phase, waypoint, _ := strings.Cut(s, "@"); slices.Contains(phases, phase) {
		return Selector{Phase: phase, Waypoint: waypoint}, nil
	}
	a, err := state.ParseAddress(s)
	if err != nil {
		return Selector{}, fmt.Errorf("%q is neither an address such as node.cp[\"cp1\"] nor a phase", s)
	}
	if a.Phase != "" && !slices.Contains(phases, a.Phase) {
		return Selector{Target: a.Target, Phase: a.Phase, Waypoint: a.Waypoint}, fmt.Errorf("%q names no phase; phases are %s", a.Phase, strings.Join(phases, ", "))
	}
	return Selector{Target: a.Target, Phase: a.Phase, Waypoint: a.Waypoint}, nil
}

// Options restrict a plan.
type Options struct {
	// Targets keeps the steps that any selector matches, and the steps that they need.
	Targets []Selector
	// Excludes drops the steps that any selector matches, and the steps that need them.
	Excludes []Selector
	// SkipPhases drops phases by name.
	SkipPhases []string
}

// Selects reports whether a plan with these options covers the step with the address by itself,
// that is, not only because another step needs it.
func (o Options) Selects(step state.Address) bool {
	matches := func(s Selector) bool { return s.Matches(step) }
	return (len(o.Targets) == 0 || slices.ContainsFunc(o.Targets, matches)) && !slices.ContainsFunc(o.Excludes, matches) &&
		!slices.Contains(o.SkipPhases, step.Phase)
}

// Restrict returns the plan with a record of the restriction.
func (o Options) Restrict(p Plan) Plan {
	for _, s := range o.Targets {
		p.Targets = append(p.Targets, s.String())
	}
	for _, s := range o.Excludes {
		p.Excluded = append(p.Excluded, s.String())
	}
	p.SkippedPhases = o.SkipPhases
	return p
}

// Assemble builds a plan from changes and a draft: it resolves needs through steps that do not
// exist, applies the options, and orders the steps.
func Assemble(p Plan, changes, drift []Change, d Draft, o Options) (*Plan, error) {
	steps := slices.DeleteFunc(slices.Clone(d.Steps), func(s Step) bool { return slices.Contains(o.SkipPhases, s.Phase) })
	resolveNeeds(steps, d.Edges)
	if len(o.Targets) > 0 {
		steps = selectSteps(steps, o.Targets, d.Closes)
	}
	all := slices.Clone(steps)
	steps = excludeSteps(steps, o.Excludes, d.Closes)
	p.LeftOut = leftOut(all, steps, o.Excludes)
	steps, p.WithheldSteps = withholdSteps(steps, d)
	p.WithheldSteps = append(withChanges(p.WithheldSteps, changes), d.WithheldChanges...)
	steps = d.dropServants(steps, o.Targets)
	resolveNeeds(steps, d.Edges, d.Turns)
	ordered, err := order(steps)
	if err != nil {
		return nil, err
	}
	p.Steps, p.Limits, p.Quorum, p.Withheld = ordered, d.Limits, d.Quorum, append(slices.Clone(p.Withheld), d.Withheld...)
	p.Rotations = d.Rotations
	for _, r := range d.Remarks {
		if p.Step(r.Step) != nil {
			p.Quorum = append(p.Quorum, r.Text)
		}
	}
	p.Changes, p.Forgotten = keepChanges(changes, ordered)
	p.Drift = keepDrift(drift, &p, o)
	p.Changes = markOutside(p.Changes, p.Drift)
	p = o.Restrict(p)
	p.Resources = count(d, &p, o)
	return &p, p.Check()
}

// resolveNeeds turns the edges into needs between the steps that exist: a need for a step without
// work becomes that step's own needs.
func resolveNeeds(steps []Step, edges ...map[state.Address][]state.Address) {
	exists := map[state.Address]bool{}
	for _, s := range steps {
		exists[s.ID] = true
	}
	for i := range steps {
		seen := map[state.Address]bool{}
		var needs []state.Address
		var visit func(id state.Address)
		visit = func(id state.Address) {
			for _, some := range edges {
				for _, n := range some[id] {
					switch {
					case seen[n]:
					case exists[n]:
						seen[n] = true
						needs = append(needs, n)
					case steps[i].Finally: // needs no cleanup after the needs of the missing step
					default:
						seen[n] = true
						visit(n)
					}
				}
			}
		}
		visit(steps[i].ID)
		state.SortByAddress(needs, func(a *state.Address) state.Address { return *a })
		steps[i].Needs = needs
	}
}

// selectSteps keeps the steps that a selector matches, everything they need, and the steps that
// close any of those.
func selectSteps(steps []Step, selectors []Selector, closes map[state.Address][]state.Address) []Step {
	byID := map[state.Address]*Step{}
	for i := range steps {
		byID[steps[i].ID] = &steps[i]
	}
	keep := map[state.Address]bool{}
	var mark func(s *Step)
	mark = func(s *Step) {
		if keep[s.ID] {
			return
		}
		keep[s.ID] = true
		for _, n := range s.Needs {
			mark(byID[n])
		}
	}
	for i := range steps {
		if slices.ContainsFunc(selectors, func(sel Selector) bool { return sel.Matches(steps[i].ID) }) {
			mark(&steps[i])
		}
	}
	return slices.DeleteFunc(steps, func(s Step) bool {
		return !keep[s.ID] && !slices.ContainsFunc(closes[s.ID], func(opens state.Address) bool { return keep[opens] })
	})
}

// excludeSteps drops the steps that a selector matches, and everything that needs them. A closing
// step is dropped with the last of the steps that it closes, not with other steps that it waits
// for.
func excludeSteps(steps []Step, selectors []Selector, closes map[state.Address][]state.Address) []Step {
	gone := map[state.Address]bool{}
	for more := true; more; {
		more = false
		for _, s := range steps {
			isGone := func(n state.Address) bool { return gone[n] }
			out := slices.ContainsFunc(selectors, func(sel Selector) bool { return sel.Matches(s.ID) })
			if opens, closer := closes[s.ID]; closer {
				out = out || all(opens, isGone)
			} else {
				out = out || slices.ContainsFunc(s.Needs, isGone)
			}
			if out && !gone[s.ID] {
				gone[s.ID], more = true, true
			}
		}
	}
	return slices.DeleteFunc(steps, func(s Step) bool { return gone[s.ID] })
}

// dropServants drops serving steps when no step that needs them is left, unless a selector names
// their phase. A step that closes a serving step does not count as a user of it, and is dropped
// too.
func (d Draft) dropServants(steps []Step, asked []Selector) []Step {
	needed := map[state.Address]bool{}
	for _, s := range steps {
		for _, n := range s.Needs {
			needed[n] = needed[n] || !slices.Contains(d.Closes[s.ID], n)
		}
	}
	idle := func(s Step) bool {
		byName := slices.ContainsFunc(asked, func(sel Selector) bool { return sel.Phase != "" && sel.Matches(s.ID) })
		return d.Serves[s.ID] && !needed[s.ID] && !byName
	}
	gone := map[state.Address]bool{}
	for _, s := range steps {
		gone[s.ID] = idle(s)
	}
	return slices.DeleteFunc(steps, func(s Step) bool {
		opens, closer := d.Closes[s.ID]
		return gone[s.ID] || closer && all(opens, func(n state.Address) bool { return gone[n] })
	})
}

// all reports whether those holds for every step.
func all(steps []state.Address, those func(state.Address) bool) bool {
	return !slices.ContainsFunc(steps, func(n state.Address) bool { return !those(n) })
}

// leftOut returns the names of what was dropped although no selector matches it, because it needs
// something that was excluded: a node without remaining steps, or else the single steps.
func leftOut(all, kept []Step, selectors []Selector) []string {
	stays, busy := map[state.Address]bool{}, map[state.Target]bool{}
	for _, s := range kept {
		stays[s.ID], busy[s.Target] = true, true
	}
	var out []string
	for _, s := range all {
		if stays[s.ID] || slices.ContainsFunc(selectors, func(sel Selector) bool { return sel.Matches(s.ID) }) {
			continue
		}
		name := s.ID.String()
		if s.Target.Type == state.TypeNode && !busy[s.Target] {
			name = s.Target.String()
		}
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// order sorts steps so that each comes after its needs. Among the steps that could come next, the
// one drafted first comes first.
func order(steps []Step) ([]Step, error) {
	done := map[state.Address]bool{}
	out := make([]Step, 0, len(steps))
	rest := steps
	for len(rest) > 0 {
		var later []Step
		for _, s := range rest {
			if slices.ContainsFunc(s.Needs, func(n state.Address) bool { return !done[n] }) {
				later = append(later, s)
				continue
			}
			done[s.ID] = true
			out = append(out, s)
		}
		if len(later) == len(rest) {
			return nil, fmt.Errorf("internal error: steps wait for one another: %s", strings.Join(cycle(rest, done), " needs "))
		}
		rest = later
	}
	return out, nil
}

// cycle returns steps of which each needs the next; the last is the first one again. Each of the
// given steps needs one that is not done.
func cycle(steps []Step, done map[state.Address]bool) []string {
	needs := map[state.Address]state.Address{}
	for _, s := range steps {
		needs[s.ID] = s.Needs[slices.IndexFunc(s.Needs, func(n state.Address) bool { return !done[n] })]
	}
	var way []string
	for id := steps[0].ID; ; id = needs[id] {
		first := slices.Index(way, id.String())
		way = append(way, id.String())
		if first >= 0 {
			return way[first:]
		}
	}
}

// keepChanges drops the changes whose steps were left out, and separates the items that are only
// forgotten, for which there is no step.
func keepChanges(changes []Change, steps []Step) (kept []Change, forgotten []state.Address) {
	has := map[state.Address]bool{}
	for _, s := range steps {
		has[s.ID] = true
	}
	for _, c := range changes {
		switch {
		case c.Action == Forget:
			forgotten = append(forgotten, c.Address)
		case has[c.Address.Step()]:
			kept = append(kept, c)
		}
	}
	return kept, forgotten
}

// keepDrift drops drift outside of a restricted plan, and drift of items that the plan forgets.
func keepDrift(drift []Change, p *Plan, o Options) []Change {
	has := map[state.Address]bool{}
	for _, s := range p.Steps {
		has[s.ID] = true
	}
	var out []Change
	for _, c := range drift {
		id := c.Address.Step()
		if (has[id] || o.Selects(id)) && !slices.Contains(p.Forgotten, c.Address) {
			out = append(out, c)
		}
	}
	return out
}

// markOutside returns the changes with a mark at the attributes whose observed value was, according to drift, set by another
// user or component. At later waypoints of an item that value is no longer there.
func markOutside(changes, drift []Change) []Change {
	drifted := map[state.Address][]AttributeChange{}
	for _, d := range drift {
		drifted[d.Address] = d.Attributes
	}
	out := slices.Clone(changes)
	for i := range out {
		c := &out[i]
		at := c.Address
		at.Waypoint = ""
		of := drifted[at]
		if len(of) == 0 {
			continue
		}
		c.Attributes = slices.Clone(c.Attributes)
		for j := range c.Attributes {
			a := &c.Attributes[j]
			a.Outside = slices.ContainsFunc(of, func(d AttributeChange) bool {
				return a.Touches(d.Path) && (a.Path != d.Path || a.Before.Equal(d.After))
			})
		}
	}
	return out
}

// count gives each resource the action that its steps amount to, and sets NoOp for a resource
// without remaining work. A resource to be deleted is only updated when the last step of its
// deletion is left out. A resource to be forgotten has no step: it is forgotten when the options
// select it.
func count(d Draft, p *Plan, o Options) []ResourceChange {
	touched, stays := map[state.Target]bool{}, map[state.Target]bool{}
	for _, s := range d.Steps {
		if s.Action == Delete {
			stays[s.Target] = p.Step(s.ID) == nil
		}
	}
	for _, s := range p.Steps {
		if s.Action != NoOp {
			touched[s.Target] = true
		}
	}
	for _, s := range o.Targets {
		if s.Phase == "" && slices.ContainsFunc(s.Members, func(t state.Target) bool { return touched[t] }) {
			touched[s.Target] = true // it goes with its nodes
		}
	}
	for _, c := range p.Changes {
		touched[c.Address.Target] = true
	}
	out := slices.Clone(d.Resources)
	for i := range out {
		goes := out[i].Action == Delete && !p.Restricted() && !p.withholdsAll(out[i].Target) || out[i].Action == Forget && o.Selects(state.Address{Target: out[i].Target})
		switch {
		case !touched[out[i].Target] && !goes:
			out[i].Action = NoOp
		case out[i].Action == Delete && stays[out[i].Target]:
			out[i].Action = Update
		}
	}
	return out
}

// Check reports a broken invariant of the plan: a need that does not exist or
// comes later, a step twice, a limit that is not defined.
func (p *Plan) Check() error {
	seen := map[state.Address]bool{}
	for _, s := range p.Steps {
		if seen[s.ID] {
			return fmt.Errorf("internal error: step %s is there twice", s.ID)
		}
		for _, n := range s.Needs {
			if !seen[n] {
				return fmt.Errorf("internal error: step %s needs %s, which does not come before it", s.ID, n)
			}
		}
		for _, l := range s.Limits {
			if p.Limits[l] < 1 {
				return fmt.Errorf("internal error: step %s names limit %s, which is not defined", s.ID, l)
			}
		}
		seen[s.ID] = true
	}
	return nil
}

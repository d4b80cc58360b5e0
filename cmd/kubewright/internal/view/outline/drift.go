package outline

import (
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// SplitDrift separates drift that the plan corrects, or shows anyway, from drift that stays.
func SplitDrift(plan *planner.Plan, refreshOnly bool) (left []planner.Change, corrected int) {
	changes := map[state.Address][]planner.Change{}
	for _, c := range plan.Changes {
		c.Address.Waypoint = ""
		changes[c.Address] = append(changes[c.Address], c)
	}
	leaving := map[state.Target]bool{}
	for _, r := range plan.Resources {
		if r.Action == planner.Delete || r.Action == planner.Replace {
			leaving[r.Target] = true
		}
	}
	mends := rewrittenFiles(plan)
	for _, d := range plan.Drift {
		planned := changes[d.Address]
		shown, written := mends[state.Address{Target: d.Address.Target, Item: d.Address.Item}]
		switch {
		case refreshOnly:
			left = append(left, d)
		case leaving[d.Address.Target]:
		case len(planned) > 0:
			if slices.ContainsFunc(planned, planner.Change.Mends) {
				corrected++
			}
			if rest, some := remainingDrift(planned, d); some {
				left = append(left, rest)
			}
		case written && shown:
			corrected++
		case written:
		default:
			left = append(left, d)
		}
	}
	return left, corrected
}

// rewrittenFiles returns the files of hosts that steps write, whichever phase they belong to, and
// whether the step is shown to correct drift.
func rewrittenFiles(plan *planner.Plan) map[state.Address]bool {
	rights := map[state.Address]bool{}
	for _, c := range plan.Changes {
		if c.Mends() {
			rights[c.Address.Step()] = true
		}
	}
	out := map[state.Address]bool{}
	for _, s := range plan.Steps {
		if s.Target.Type != state.TypeNode || s.Action == planner.Delete {
			continue
		}
		for _, op := range s.Operations {
			if _, removes := op.(planner.RemovePath); removes {
				continue
			}
			for _, path := range planner.Overwrites(op) {
				a := state.Address{Target: s.Target, Item: "file:" + path}
				out[a] = out[a] || rights[s.ID]
			}
		}
	}
	return out
}

// remainingDrift returns the drift of an item that its planned changes leave as it is.
func remainingDrift(planned []planner.Change, drift planner.Change) (rest planner.Change, some bool) {
	if slices.ContainsFunc(planned, func(c planner.Change) bool { return c.Action != planner.Update }) {
		return drift, false
	}
	drift.Attributes = slices.DeleteFunc(slices.Clone(drift.Attributes), func(d planner.AttributeChange) bool {
		return slices.ContainsFunc(planned, func(c planner.Change) bool {
			return slices.ContainsFunc(c.Attributes, func(a planner.AttributeChange) bool { return a.Touches(d.Path) })
		})
	})
	return drift, len(drift.Attributes) > 0
}

// WithoutOrigins returns drift without lines of the configuration, which did not set the
// present values.
func WithoutOrigins(c planner.Change) planner.Change {
	c.Attributes = slices.Clone(c.Attributes)
	for i := range c.Attributes {
		c.Attributes[i].Origin, c.Attributes[i].Origins = state.Source{}, nil
	}
	return c
}

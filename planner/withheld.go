package planner

import (
	"slices"

	"github.com/kubewright/kubewright/state"
)

// WithheldStep is work that a plan leaves for a later one, because a host is missing: a step that
// would be in the plan otherwise, or changes of a target whose host could not be observed, as far as
// they are known without it.
type WithheldStep struct {
	// Step is the address of the step. Its phase is empty for a target without steps.
	Step state.Address `json:"step"`
	// Action is what the step would do to its target.
	Action Action `json:"action"`
	// Reason is a clause that says why.
	Reason string `json:"reason"`
	// Changes are those that the step would make; none for a step that has only operations.
	Changes []Change `json:"changes,omitempty"`
	// Operations summarise the operations of a step without changes.
	Operations []string `json:"operations,omitempty"`
}

// withholdSteps drops the steps with a reason, and everything that needs them, and returns both. A
// closing step is dropped with the last of the steps that it closes.
func withholdSteps(steps []Step, d Draft) (kept []Step, withheld []WithheldStep) {
	why := map[state.Address]string{}
	gone := func(n state.Address) bool { return why[n] != "" }
	for more := true; more; {
		more = false
		for _, s := range steps {
			if gone(s.ID) {
				continue
			}
			reason := d.Withhold[s.ID]
			if opens, closer := d.Closes[s.ID]; reason == "" && closer {
				if len(opens) > 0 && all(opens, func(n state.Address) bool { return gone(n) || !there(steps, n) }) && slices.ContainsFunc(opens, gone) {
					reason = "waits for " + opens[0].String() + ", which is withheld"
				}
			} else if i := slices.IndexFunc(s.Needs, gone); reason == "" && i >= 0 && !d.Apart[s.ID] {
				reason = "waits for " + s.Needs[i].String() + ", which is withheld"
			}
			if reason != "" {
				why[s.ID], more = reason, true
			}
		}
	}
	for _, s := range steps {
		if !gone(s.ID) {
			kept = append(kept, s)
			continue
		}
		if d.Serves[s.ID] || d.Closes[s.ID] != nil || s.OnlyProves() {
			continue // it exists only for others, which are listed
		}
		withheld = append(withheld, WithheldStep{Step: s.ID, Action: s.Action, Reason: why[s.ID], Operations: s.Operations.summaries()})
	}
	return kept, withheld
}

func there(steps []Step, id state.Address) bool {
	return slices.ContainsFunc(steps, func(s Step) bool { return s.ID == id })
}

// summaries returns what the operations do, for people.
func (ops Operations) summaries() []string {
	var out []string
	for _, op := range ops {
		out = append(out, op.Summary())
	}
	return out
}

// withChanges returns the withheld steps with the changes that they would make, and then without their
// operations: a change says more.
func withChanges(withheld []WithheldStep, changes []Change) []WithheldStep {
	by := map[state.Address][]Change{}
	for _, c := range changes {
		if c.Action != Forget {
			by[c.Address.Step()] = append(by[c.Address.Step()], c)
		}
	}
	var out []WithheldStep
	for _, w := range withheld {
		if its := by[w.Step]; len(its) > 0 {
			w = WithheldStep{Step: w.Step, Action: w.Action, Reason: w.Reason, Changes: its}
		}
		out = append(out, w)
	}
	return out
}

// Withholds reports whether the plan leaves something to a later one because a host, an API or a whole
// cluster was not observed.
func (p *Plan) Withholds() bool { return len(p.Withheld)+len(p.WithheldSteps) > 0 }

// withholdsAll reports whether the plan withholds steps of a target, and has none of it.
func (p *Plan) withholdsAll(t state.Target) bool {
	return slices.ContainsFunc(p.WithheldSteps, func(w WithheldStep) bool { return w.Step.Target == t }) &&
		!slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Target == t })
}

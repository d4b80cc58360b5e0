package outline

import (
	"slices"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// WithheldWork is work that a plan leaves for a later one, in words.
type WithheldWork struct {
	// Address is a step, or a node whose host was not observed.
	Address string
	// What are lines about what would be done; Why is a clause.
	What []string
	Why  string
}

// withheldItems is how many changes of one step are named.
const withheldItems = 6

// Withheld returns the work that a plan leaves for a later one.
func Withheld(plan *planner.Plan) []WithheldWork {
	var out []WithheldWork
	for _, w := range plan.WithheldSteps {
		work := WithheldWork{Address: ui.Clean(w.Step.String()), Why: ui.Clean(w.Reason)}
		for _, c := range w.Changes {
			work.What = append(work.What, "would "+changeWords(c))
		}
		for _, text := range w.Operations {
			work.What = append(work.What, "would "+ui.Clean(text))
		}
		if n := len(work.What); n > withheldItems {
			work.What = append(work.What[:withheldItems:withheldItems], "and "+strconv.Itoa(n-withheldItems)+" more")
		}
		out = append(out, work)
	}
	return out
}

// withheldPhases is from how many steps of one target on that are withheld for one reason only the
// phases are named.
const withheldPhases = 4

// WithheldGroups returns the work like Withheld, for people: with what is the same on several targets
// once, under all their addresses, and the many steps of one target, as of a join, as one.
func WithheldGroups(plan *planner.Plan) []WithheldWork {
	type group struct {
		target state.Target
		why    string
	}
	of := func(w planner.WithheldStep) group { return group{w.Step.Target, w.Reason} }
	phases := map[group][]string{}
	for _, w := range plan.WithheldSteps {
		phases[of(w)] = append(phases[of(w)], w.Step.Phase)
	}
	var list []WithheldWork
	named := map[group]bool{}
	for i, w := range Withheld(plan) {
		step := plan.WithheldSteps[i]
		names := phases[of(step)]
		switch {
		case len(names) < withheldPhases:
			list = append(list, w)
		case !named[of(step)]:
			named[of(step)] = true
			list = append(list, WithheldWork{Address: ui.Clean(step.Step.Target.String()), What: []string{"would do " + strings.Join(slices.Compact(names), ", ")}, Why: w.Why})
		}
	}
	var out []WithheldWork
	for _, w := range list {
		i := slices.IndexFunc(out, func(o WithheldWork) bool { return o.Why == w.Why && slices.Equal(o.What, w.What) })
		if i < 0 {
			out = append(out, w)
			continue
		}
		out[i].Address += ", " + w.Address
	}
	return out
}

// changeWords says what a change would do, with the attributes that it would change.
func changeWords(c planner.Change) string {
	text := string(c.Action) + " " + ui.Clean(c.Address.Class()) + " " + ui.Clean(c.Address.ID())
	var paths []string
	for _, a := range c.Attributes {
		if a.Path != "" {
			paths = append(paths, ui.Clean(a.Path))
		}
	}
	switch n := len(paths); {
	case n == 0 || c.Action != planner.Update:
		return text
	case n > withheldItems:
		return text + ": " + strings.Join(paths[:withheldItems], ", ") + " and " + strconv.Itoa(n-withheldItems) + " more"
	}
	return text + ": " + strings.Join(paths, ", ")
}

// WithheldHeadline counts the work that a plan leaves for a later one, and says when that can be made;
// empty for none.
func WithheldHeadline(plan *planner.Plan) string {
	n := len(plan.WithheldSteps)
	if n == 0 {
		return ""
	}
	verb := "waits"
	if n > 1 {
		verb = "wait"
	}
	return ui.Plural(n, "step") + " " + verb + " until what could not be observed is back"
}

package view

import (
	"cmp"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/state"
)

// Plan prints what an apply would do, for the operator who confirms it.
func Plan(w io.Writer, plan *planner.Plan, o Options) error {
	o.RefreshOnly = o.RefreshOnly || plan.RefreshOnly
	p := planPrinter{blockPrinter{changePrinter{newPage(o)}}, plan, o}
	outputs := p.outputChanges()
	p.drift()
	switch {
	case o.RefreshOnly:
		p.withheld()
		if !plan.Empty() {
			p.warned()
		}
		p.refreshOnly()
	case plan.Empty():
		p.withheld()
		p.nothing(len(outputs) > 0)
		if ends := certificateEnds(plan); len(ends) > 0 {
			p.line()
			p.certificates(ends)
		}
	default:
		p.actions()
	}
	if len(outputs) > 0 {
		p.line()
		p.line("Changes to Outputs:")
		p.print(outputs, 0)
		if plan.Empty() {
			p.line()
			p.prose("You can apply this plan to save these new output values to the state, without changing any host.")
		}
	}
	return p.flush(w)
}

// planPrinter prints the parts of a plan.
type planPrinter struct {
	blockPrinter
	plan *planner.Plan
	o    Options
}

// actions prints everything from the legend to the summary.
func (p planPrinter) actions() {
	resources := p.resources(p.plan)
	p.legend(resources)
	p.line("kubewright will perform the following actions:")
	p.line()
	p.blocks(resources)
	for _, sentence := range p.plan.Upgrades {
		p.line(wrap("Upgrade: "+CleanText(sentence), p.width, "  "))
	}
	for _, sentence := range p.plan.Rotations {
		p.line(wrap("Rotation: "+Clean(sentence), p.width, "  "))
	}
	printOrder(p.page, p.plan)
	for _, sentence := range p.plan.Quorum {
		p.line(wrap("etcd: "+Clean(sentence), p.width, "  "))
	}
	ends := certificateEnds(p.plan)
	p.certificates(ends)
	printEstimate(p.page, p.plan, executor.Forecast(p.plan, p.o.Recorded.Durations, p.o.Parallelism))
	if len(p.plan.Steps)+len(p.plan.Quorum)+len(ends) > 0 || p.full && len(p.plan.Certificates) > 0 {
		p.line()
	}
	p.withheld()
	if p.plan.Restricted() {
		p.restricted()
		p.line()
	}
	p.policies()
	p.warned()
	p.summary()
}

// restricted tells of what the plan is silent.
func (p planPrinter) restricted() {
	var parts []string
	if len(p.plan.Targets) > 0 {
		parts = append(parts, "speaks only of "+list(cleaned(p.plan.Targets))+" and what that needs")
	}
	if len(p.plan.Excluded) > 0 {
		parts = append(parts, "leaves out "+list(cleaned(p.plan.Excluded))+consequence(p.plan))
	}
	if len(p.plan.SkippedPhases) > 0 {
		parts = append(parts, "leaves out "+list(cleaned(p.plan.SkippedPhases)))
	}
	p.prose(p.yellow("Note:") + " This plan " + strings.Join(parts, ", and ") + ". Plan without -target, -exclude and -skip-phase to see everything else.")
}

// consequence names what is left out because it needs what was to be left out, and what
// one might take for left out and is not.
func consequence(plan *planner.Plan) string {
	text := ""
	if names := cleaned(plan.LeftOut); len(names) > 0 {
		if n := len(names); n > maxLeftOut+1 {
			names = append(names[:maxLeftOut:maxLeftOut], strconv.Itoa(n-maxLeftOut)+" more")
		}
		text = " and what needs that: " + list(names)
	}
	if clusters := withoutNodes(plan); len(clusters) > 0 {
		text += "; none of the nodes of " + list(clusters) + " is meant: exclude them by name"
	}
	return text
}

// withoutNodes are clusters that are excluded while nodes of theirs change.
func withoutNodes(plan *planner.Plan) []string {
	changing := map[string]bool{}
	for _, r := range plan.Resources {
		if r.Target.Type == state.TypeNode && r.Action != planner.NoOp {
			changing[state.ClusterTarget(cmp.Or(r.After["cluster"], r.Before["cluster"])).String()] = true
		}
	}
	var out []string
	for _, excluded := range plan.Excluded {
		if changing[excluded] {
			out = append(out, Clean(excluded))
		}
	}
	return out
}

// maxLeftOut bounds how much is named that is left out as a consequence.
const maxLeftOut = 8

// legend explains the symbols of resources that occur. What changes inside of
// one has symbols as well, and words beside them.
func (p planPrinter) legend(resources []resource) {
	used := map[symbol]bool{}
	for _, r := range resources {
		used[r.entry.sym] = true
	}
	if len(used) == 1 && used[unchanged] {
		return
	}
	p.line("Actions are indicated with the following symbols:")
	for _, l := range []struct {
		sym  symbol
		text string
	}{
		{added, "create"},
		{changed, "update in-place"},
		{removed, "destroy"},
		{replaced, "destroy and then create replacement"},
		{forgotten, "forget, without touching it"},
	} {
		if used[l.sym] {
			p.line(p.mark(l.sym), " ", l.text)
		}
	}
	p.line()
}

// summary is the sentence that scripts read.
func (p planPrinter) summary() {
	p.line(p.bold("Plan:"), " ", planned(p.plan))
}

// planned returns the sentence behind "Plan:".
func planned(plan *planner.Plan) string {
	add, change, destroy := plan.Counts()
	imports := ""
	if n := plan.Imports(); n > 0 {
		imports = strconv.Itoa(n) + " to import, "
	}
	return imports + strconv.Itoa(add) + " to add, " + strconv.Itoa(change) + " to change, " + strconv.Itoa(destroy) + " to destroy."
}

// nothing prints that a plan is empty, and why that is good or not.
func (p planPrinter) nothing(outputs bool) {
	end := "."
	if outputs {
		end = ", except for outputs."
	}
	switch {
	case p.plan.Destroy && p.plan.Restricted():
		p.line(p.boldGreen("No changes."), " ", p.bold("Nothing of what was selected would be destroyed."))
		p.line()
		p.restricted()
	case p.plan.Destroy && len(p.plan.Withheld) > 0:
		p.line(p.boldGreen("No changes."), " ", p.bold("Nothing of what could be looked at needs to be destroyed."))
	case p.plan.Destroy:
		p.line(p.boldGreen("No changes."), " ", p.bold("No objects need to be destroyed."))
		p.line()
		p.prose("Either you have not created anything yet or everything was already destroyed.")
	case p.plan.Restricted():
		p.line(p.boldGreen("No changes."), " ", p.bold("What was selected matches the configuration"+end))
		p.line()
		p.restricted()
	case len(p.plan.Withheld) > 0:
		p.line(p.boldGreen("No changes."), " ", p.bold("What could be looked at matches the configuration"+end))
		p.line()
		p.prose("Of what could not be looked at, nothing is known and nothing is planned.")
	default:
		p.line(p.boldGreen("No changes."), " ", p.bold("Your clusters match the configuration"+end))
		if outputs {
			return
		}
		p.line()
		p.prose("kubewright has compared every host, etcd and the API with your configuration and found no differences, so no changes are needed.")
	}
}

func (p planPrinter) refreshOnly() {
	switch {
	case len(p.plan.Drift) > 0:
		p.prose("This is a refresh-only plan, so kubewright will not change any host. " +
			"Apply it to write what was found to the state.")
		p.line()
		p.prose("The configuration wins: the next apply that is not refresh-only puts back what it says. What is to stay is written into it, or left to others with ignore_changes.")
	case len(p.plan.Moved) > 0:
		p.prose("This is a refresh-only plan, so kubewright will not change any host, and nothing was found to be changed outside. " +
			"Apply it to write to the state how these are called now:")
	case p.plan.Restricted():
		p.line(p.boldGreen("No changes."), " ", p.bold("What was selected still matches the state."))
	case len(p.plan.CutShort) > 0:
		p.line(p.boldGreen("No changes."), " ", p.bold("What the state knows is still so."))
	default:
		p.line(p.boldGreen("No changes."), " ", p.bold("Your clusters still match the state."))
		p.line()
		p.prose("kubewright has looked at every host, etcd and the API and found what the last apply left there.")
	}
	if len(p.plan.Moved) > 0 {
		p.line()
	}
	for _, m := range p.plan.Moved {
		p.line("  # ", p.moved(m))
	}
	if text := cutShort(p.plan); text != "" {
		p.line()
		p.prose(text)
	}
	if p.plan.Restricted() {
		p.line()
		p.restricted()
	}
}

// cutShort says of what a refresh-only plan does not tell what changed, and who does.
func cutShort(plan *planner.Plan) string {
	if len(plan.CutShort) == 0 {
		return ""
	}
	return "The state does not know what an apply that was cut short has left on " + Clean(list(plan.CutShort)) + ". " +
		"What was changed there since is shown by kubewright plan, as far as it differs from the configuration. The next apply writes what it finds."
}

// withheld lists what could not be looked at and is therefore left alone.
func (p planPrinter) withheld() {
	if len(p.plan.Withheld) == 0 {
		return
	}
	verb := " is left alone, because it could not be looked at:"
	if len(p.plan.Withheld) > 1 {
		verb = " are left alone, because they could not be looked at:"
	}
	p.line(p.bold(p.yellow("Warning: ")), plural(len(p.plan.Withheld), "target"), verb)
	for _, u := range p.plan.Withheld {
		name := Clean(u.Target.String())
		room := strings.Repeat("-", ansi.StringWidth(name)+1) // that the name takes of the first line
		p.line("  ", p.bold(name), " ", strings.TrimPrefix(wrap(room+" "+Clean(u.Reason), p.width, "    "), room))
		if u.Remedy != "" {
			p.line("    ", wrap(Clean(u.Remedy), p.width, "    "))
		}
	}
	p.line()
}

// drift tells what changed outside: in full where the plan leaves it so, and
// as a count where the plan puts it right and shows it anyway.
func (p planPrinter) drift() {
	left, mended := splitDrift(p.plan, p.o.RefreshOnly)
	if len(left)+mended == 0 {
		return
	}
	p.line(p.bold("Note: "), "Objects have changed outside of kubewright")
	p.line()
	if mended > 0 {
		what := "1 item was changed by somebody else and is"
		if mended > 1 {
			what = plural(mended, "item") + " were changed by somebody else and are"
		}
		p.prose("Of what the last apply left, " + what + " put right by this plan; look for \"" + outsideNote + "\" below.")
		p.line()
	}
	if len(left) > 0 {
		text := "kubewright found the following changes since the last apply that this plan does not touch:"
		if p.o.RefreshOnly {
			text = "kubewright found the following changes since the last apply:"
		}
		p.prose(text)
		p.line()
		for _, c := range left {
			p.driftItem(c)
			if p.o.RefreshOnly {
				p.accept(c)
			}
		}
	}
	p.rule()
	p.line()
}

// splitDrift separates drift that the plan puts right, or shows anyway, from
// drift that stays.
func splitDrift(plan *planner.Plan, refreshOnly bool) (left []planner.Change, mended int) {
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
	mends := mending(plan)
	for _, d := range plan.Drift {
		planned := changes[d.Address]
		shown, written := mends[state.Address{Target: d.Address.Target, Item: d.Address.Item}]
		switch {
		case refreshOnly:
			left = append(left, d)
		case leaving[d.Address.Target]:
		case len(planned) > 0:
			if slices.ContainsFunc(planned, planner.Change.Mends) {
				mended++
			}
			if rest, some := untouched(planned, d); some {
				left = append(left, rest)
			}
		case written && shown:
			mended++
		case written:
		default:
			left = append(left, d)
		}
	}
	return left, mended
}

// mending returns the files of hosts that steps write, also those of another phase than the
// step's own, and whether the step is shown to put something right.
func mending(plan *planner.Plan) map[state.Address]bool {
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

// untouched is as much of the drift of an item as its changes leave so.
func untouched(planned []planner.Change, drift planner.Change) (rest planner.Change, some bool) {
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

func (p planPrinter) driftItem(c planner.Change) {
	what := " has changed"
	if c.Action == planner.Delete {
		what = p.red(" has been deleted")
	}
	p.line("  # ", p.bold(Clean(c.Address.Target.String())), "/", Clean(c.Address.Phase), what)
	p.print([]entry{p.item(item{Change: fromOutside(c)}, true)}, 0)
	p.line()
}

// fromOutside is drift without lines of the configuration: it was somebody else who set
// what is there now.
func fromOutside(c planner.Change) planner.Change {
	c.Attributes = slices.Clone(c.Attributes)
	for i := range c.Attributes {
		c.Attributes[i].Origin, c.Attributes[i].Origins = state.Source{}, nil
	}
	return c
}

// outputChanges compares the outputs of the state with those of the plan.
func (p planPrinter) outputChanges() []entry {
	prior, planned := p.o.Recorded.Outputs, p.plan.Outputs
	var out []entry
	for _, name := range changedOutputs(prior, planned) {
		e := p.attribute(key(name), planner.AttributeChange{Before: prior[name], After: planned[name]})
		if e.block {
			e.key += " =" // a value, not a block of the language
		}
		out = append(out, e)
	}
	return out
}

// changedOutputs returns the names of outputs of which the state holds another value, or none.
func changedOutputs(prior, planned map[string]state.Value) []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(prior)), maps.Keys(planned))
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return prior[name].Equal(planned[name]) })
}

package planview

import (
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/blocks"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/diffview"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/outline"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/schedule"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/executor"
)

// Print prints what an apply would do, for the operator who confirms it.
func Print(w io.Writer, plan *planner.Plan, o ui.Options) error {
	o.RefreshOnly = o.RefreshOnly || plan.RefreshOnly
	p := printer{blocks.NewPrinter(o), plan, o}
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
		p.noChanges(len(outputs) > 0)
		if ends := outline.ExpiryNotes(plan); len(ends) > 0 {
			p.Line()
			p.certificates(ends)
		}
	default:
		p.actions()
	}
	if len(outputs) > 0 {
		p.Line()
		p.Line("Changes to Outputs:")
		p.Print(outputs, 0)
		if plan.Empty() {
			p.Line()
			p.Prose("You can apply this plan to save these new output values to the state, without changing any host.")
		}
	}
	return p.Flush(w)
}

// printer prints the parts of a plan.
type printer struct {
	blocks.Printer
	plan *planner.Plan
	o    ui.Options
}

// actions prints everything from the legend to the summary.
func (p printer) actions() {
	resources := p.Resources(p.plan)
	p.legend(resources)
	p.Line("kubewright will perform the following actions:")
	p.Line()
	p.PrintResources(resources)
	for _, sentence := range p.plan.Upgrades {
		p.Line(ui.Wrap("Upgrade: "+ui.CleanText(sentence), p.Width, "  "))
	}
	for _, sentence := range p.plan.Rollouts {
		p.Line(ui.Wrap("Rollout: "+ui.CleanText(sentence), p.Width, "  "))
	}
	for _, sentence := range p.plan.Rotations {
		p.Line(ui.Wrap("Rotation: "+ui.Clean(sentence), p.Width, "  "))
	}
	schedule.Print(p.Page, p.plan)
	for _, sentence := range p.plan.Quorum {
		p.Line(ui.Wrap("etcd: "+ui.Clean(sentence), p.Width, "  "))
	}
	ends := outline.ExpiryNotes(p.plan)
	p.certificates(ends)
	schedule.PrintEstimate(p.Page, p.plan, executor.Forecast(p.plan, p.o.Recorded.Durations, p.o.Parallelism))
	if len(p.plan.Steps)+len(p.plan.Quorum)+len(ends) > 0 || p.Full && len(p.plan.Certificates) > 0 {
		p.Line()
	}
	p.withheld()
	if p.plan.Restricted() {
		p.restricted()
		p.Line()
	}
	p.policies()
	p.warned()
	p.summary()
}

// restricted prints to which part the plan is restricted.
func (p printer) restricted() {
	var parts []string
	if len(p.plan.Targets) > 0 {
		parts = append(parts, "covers only "+ui.CommaList(ui.Cleaned(p.plan.Targets))+" and what that needs")
	}
	if len(p.plan.Excluded) > 0 {
		parts = append(parts, "leaves out "+ui.CommaList(ui.Cleaned(p.plan.Excluded))+outline.ExcludedDependents(p.plan))
	}
	if len(p.plan.SkippedPhases) > 0 {
		parts = append(parts, "leaves out "+ui.CommaList(ui.Cleaned(p.plan.SkippedPhases)))
	}
	p.Prose(p.Yellow("Note:") + " This plan " + strings.Join(parts, ", and ") + ". Plan without -target, -exclude and -skip-phase to see everything else.")
}

// legend explains the symbols of the resources. The symbols of items inside of them have words
// beside them.
func (p printer) legend(resources []blocks.Resource) {
	used := map[ui.Symbol]bool{}
	for _, r := range resources {
		used[r.Entry.Sym] = true
	}
	if len(used) == 1 && used[ui.Unchanged] {
		return
	}
	p.Line("Actions are indicated with the following symbols:")
	for _, l := range []struct {
		sym  ui.Symbol
		text string
	}{
		{ui.Added, "create"},
		{ui.Changed, "update in-place"},
		{ui.Removed, "destroy"},
		{ui.Replaced, "destroy and then create replacement"},
		{ui.Forgotten, "forget, without touching it"},
	} {
		if used[l.sym] {
			p.Line(p.Mark(l.sym), " ", l.text)
		}
	}
	p.Line()
}

// summary prints the sentence that scripts read.
func (p printer) summary() {
	p.Line(p.Bold("Plan:"), " ", outline.Counts(p.plan))
}

// noChanges prints that a plan is empty, and why.
func (p printer) noChanges(outputs bool) {
	end := "."
	if outputs {
		end = ", except for outputs."
	}
	switch {
	case p.plan.Command != "":
		p.Line(p.BoldGreen("No changes."), " ", p.Bold("Nothing is left to do for kubewright "+ui.Clean(p.plan.Command)+"."))
	case len(p.plan.WithheldSteps) > 0 && !p.plan.Destroy:
		p.Line(p.BoldGreen("No changes."), " ", p.Bold("All that differs is withheld"+end))
		if p.plan.Restricted() {
			p.Line()
			p.restricted()
		}
	case p.plan.Destroy && p.plan.Restricted():
		p.Line(p.BoldGreen("No changes."), " ", p.Bold("Nothing of what was selected would be destroyed."))
		p.Line()
		p.restricted()
	case p.plan.Destroy && len(p.plan.Withheld) > 0:
		p.Line(p.BoldGreen("No changes."), " ", p.Bold("Nothing that could be observed needs to be destroyed."))
	case p.plan.Destroy:
		p.Line(p.BoldGreen("No changes."), " ", p.Bold("No objects need to be destroyed."))
		p.Line()
		p.Prose("Either you have not created anything yet or everything was already destroyed.")
	case p.plan.Restricted():
		p.Line(p.BoldGreen("No changes."), " ", p.Bold("What was selected matches the configuration"+end))
		p.Line()
		p.restricted()
	case len(p.plan.Withheld) > 0:
		p.Line(p.BoldGreen("No changes."), " ", p.Bold("What could be observed matches the configuration"+end))
		p.Line()
		p.Prose("What could not be observed is unknown, and nothing is planned for it.")
	default:
		p.Line(p.BoldGreen("No changes."), " ", p.Bold("Your clusters match the configuration"+end))
		if outputs {
			return
		}
		p.Line()
		p.Prose("kubewright has compared every host, etcd and the API with your configuration and found no differences, so no changes are needed.")
	}
}

func (p printer) refreshOnly() {
	switch {
	case len(p.plan.Drift) > 0:
		p.Prose("This is a refresh-only plan, so kubewright will not change any host. " +
			"Apply it to write what was found to the state.")
		p.Line()
		p.Prose("The configuration wins: the next apply that is not refresh-only puts back what it says. What is to stay is written into it, or left to others with ignore_changes.")
	case len(p.plan.Moved) > 0:
		p.Prose("This is a refresh-only plan, so kubewright will not change any host, and nothing was found to be changed outside. " +
			"Apply it to write to the state how these are called now:")
	case p.plan.Restricted():
		p.Line(p.BoldGreen("No changes."), " ", p.Bold("What was selected still matches the state."))
	case len(p.plan.Interrupted) > 0:
		p.Line(p.BoldGreen("No changes."), " ", p.Bold("What the state knows is still so."))
	default:
		p.Line(p.BoldGreen("No changes."), " ", p.Bold("Your clusters still match the state."))
		p.Line()
		p.Prose("kubewright has observed every host, etcd and the API and found what the last apply left there.")
	}
	if len(p.plan.Moved) > 0 {
		p.Line()
	}
	for _, m := range p.plan.Moved {
		p.Line("  # ", p.Moved(m))
	}
	if text := outline.InterruptedNote(p.plan); text != "" {
		p.Line()
		p.Prose(text)
	}
	if p.plan.Restricted() {
		p.Line()
		p.restricted()
	}
}

// withheld prints the targets that could not be observed and are therefore left alone.
func (p printer) withheld() {
	if len(p.plan.Withheld) == 0 {
		return
	}
	verb := " is left alone, because it could not be observed:"
	if len(p.plan.Withheld) > 1 {
		verb = " are left alone, because they could not be observed:"
	}
	p.Line(p.Bold(p.Yellow("Warning: ")), ui.Plural(len(p.plan.Withheld), "target"), verb)
	for _, u := range p.plan.Withheld {
		name := ui.Clean(u.Target.String())
		room := strings.Repeat("-", ansi.StringWidth(name)+1) // the name takes this room on the first line
		p.Line("  ", p.Bold(name), " ", strings.TrimPrefix(ui.Wrap(room+" "+ui.Clean(u.Reason), p.Width, "    "), room))
		if u.Remedy != "" {
			p.Line("    ", ui.Wrap(ui.Clean(u.Remedy), p.Width, "    "))
		}
	}
	p.Line()
	p.withheldSteps()
}

// withheldShown is how many withheld steps are shown without -full.
const withheldShown = 20

// withheldSteps prints the work that waits until the targets are back.
func (p printer) withheldSteps() {
	list := outline.WithheldGroups(p.plan)
	if len(list) == 0 {
		return
	}
	p.Line(p.Bold(p.Yellow("Warning: ")), outline.WithheldHeadline(p.plan), ":")
	for i, w := range list {
		if i == withheldShown && !p.Full {
			p.Line("  and ", ui.Plural(len(list)-i, "more step"), " (-full shows all)")
			break
		}
		p.Line("  ", p.Bold(ui.Wrap(w.Address, p.Width-2, "  ")))
		for _, what := range w.What {
			p.Line("    ", ui.Wrap(what, p.Width-4, "      "))
		}
		p.Line("    ", ui.Wrap("Withheld: "+w.Why+".", p.Width-4, "      "))
	}
	p.Line()
}

// outputChanges compares the outputs of the state with those of the plan.
func (p printer) outputChanges() []diffview.Entry {
	prior, planned := p.o.Recorded.Outputs, p.plan.Outputs
	var out []diffview.Entry
	for _, name := range outline.ChangedOutputs(prior, planned) {
		e := p.Attribute(ui.Key(name), planner.AttributeChange{Before: prior[name], After: planned[name]})
		if e.Block {
			e.Key += " =" // a value, not a block of the language
		}
		out = append(out, e)
	}
	return out
}

package view

import (
	"cmp"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// runPrinter prints what became of a run.
type runPrinter struct {
	*page
	plan    *planner.Plan
	outcome *executor.Outcome
}

// Complete prints the sentence for a plan that was carried out, and where the
// time went; the outcome is nil when no step ran.
func Complete(w io.Writer, plan *planner.Plan, outcome *executor.Outcome, o Options) error {
	p := runPrinter{newPage(o), plan, outcome}
	p.line()
	p.line(p.boldGreen(completed(plan)))
	if text := stillToDo(plan); text != "" {
		p.line()
		p.prose("Not everything is done: " + text)
	}
	if outcome != nil {
		p.timing()
	}
	return p.flush(w)
}

// stillToDo names what a plan that was carried out had left alone; empty for nothing.
func stillToDo(plan *planner.Plan) string {
	if len(plan.Withheld) == 0 {
		return ""
	}
	var names []string
	for _, u := range plan.Withheld {
		names = append(names, Clean(u.Target.String()))
	}
	return list(names) + " could not be looked at, so that what differs there is still to be done. " +
		"Run kubewright " + verb(plan) + " again when what is missing answers."
}

// completed returns the sentence for a plan that was carried out.
func completed(plan *planner.Plan) string {
	add, change, destroy := plan.Counts()
	if plan.Destroy {
		return "Destroy complete! Resources: " + strconv.Itoa(destroy) + " destroyed."
	}
	imported := ""
	if n := plan.Imports(); n > 0 {
		imported = strconv.Itoa(n) + " imported, "
	}
	return "Apply complete! Resources: " + imported + strconv.Itoa(add) + " added, " + strconv.Itoa(change) + " changed, " + strconv.Itoa(destroy) + " destroyed."
}

// Incomplete prints what became of a run that failed or was stopped: a report
// of each failure, what follows from it, and how to go on.
func Incomplete(w io.Writer, plan *planner.Plan, outcome *executor.Outcome, o Options) error {
	p := runPrinter{newPage(o), plan, outcome}
	p.line()
	for _, s := range outcome.Steps {
		if s.Status == executor.StatusFailed {
			p.failure(s)
		}
	}
	p.remains(o)
	return p.flush(w)
}

// CertificateKey shows a generated certificate key, the one secret that is
// printed: it is of use to the operator alone, and kept nowhere.
func CertificateKey(w io.Writer, cluster state.Target, key state.Secret, o Options) error {
	p := newPage(o)
	p.line()
	p.line(wrap("The certificates of "+Clean(cluster.String())+" are in the cluster for two hours, encrypted with this key. It is shown once and kept nowhere.", p.width, ""))
	p.line()
	p.line("  kubeadm join … --control-plane --certificate-key ", Clean(string(key.Reveal())))
	return p.flush(w)
}

// failure reports one failed step in the form of a finding.
func (p runPrinter) failure(s executor.StepOutcome) {
	body := []string{
		p.boldRed("Error: ") + p.bold("Step "+undone(s.Err)), "", "  with " + Clean(s.Step.String()) + where(p.plan, s.Step) + ",",
		"  after " + duration(time.Duration(s.Seconds*float64(time.Second))) + ".", "",
	}
	width := p.framedWidth()
	body = append(body, strings.Split(wrap(CleanText(reason(s)), width, ""), "\n")...)
	body = append(body, lastWords(s.Err)...)
	if skipped := skippedBy(p.outcome, s.Step); len(skipped) > 0 {
		body = append(body, "")
		body = append(body, strings.Split(wrap("Not done because of it: "+list(skipped)+".", width, ""), "\n")...)
	}
	p.framed(p.red, body)
	p.line()
}

// undone returns how a step ended that was begun and not done.
func undone(err error) string {
	if executor.IsCutShort(err) {
		return "cut short"
	}
	return "failed"
}

// reason returns why a step failed.
func reason(s executor.StepOutcome) string {
	if s.Err == nil {
		return "no reason was given"
	}
	return s.Err.Error()
}

// where returns the host of a step: its node's address, or the one it went through.
func where(plan *planner.Plan, id state.Address) string {
	target := id.Target
	via := ""
	if s := plan.Step(id); s != nil && target.Type != state.TypeNode && !s.Via.IsZero() {
		target, via = s.Via, "through "+Clean(s.Via.String())
	}
	for _, r := range plan.Resources {
		if r.Target == target && target.Type == state.TypeNode {
			address, _, _ := strings.Cut(Clean(r.Note), ",")
			if via != "" && address != "" {
				return " (" + via + ", " + address + ")"
			}
			return brackets([]string{address})
		}
	}
	return brackets([]string{via})
}

// lastWords returns the last lines that a failed command wrote.
func lastWords(err error) []string {
	command, ok := errors.AsType[*providers.CommandError](err)
	if !ok || len(command.Stderr) < 2 {
		return nil
	}
	out := []string{"", "The command's last words:", ""}
	for _, line := range command.Stderr[max(0, len(command.Stderr)-maxWords):] {
		out = append(out, "  "+Clean(line))
	}
	return out
}

const (
	// maxWords is how many lines of a failed command are shown.
	maxWords = 12
	// maxSkipped is how many steps are named that did not run.
	maxSkipped = 8
)

// skippedBy names the steps that did not run because the step failed.
func skippedBy(outcome *executor.Outcome, cause state.Address) []string {
	var out []string
	for _, s := range outcome.Steps {
		if s.Status == executor.StatusSkipped && s.Cause == cause {
			out = append(out, Clean(s.Step.String()))
		}
	}
	if n := len(out); n > maxSkipped {
		out = append(out[:maxSkipped], "and "+strconv.Itoa(n-maxSkipped)+" more")
	}
	return out
}

// remains says how far the run came and how to go on.
func (p runPrinter) remains(o Options) {
	head, far := farness(p.plan, p.outcome)
	p.line(p.bold(head+": "), far, ".")
	p.line()
	next, command := "What was done is done and recorded. To go on, run the same command again: it looks at the hosts first and plans what is left.", commandFor(p.plan, o)
	if p.outcome.Overtaken {
		next = "Another run has begun, or somebody has let one in. What this one has done is found on the hosts. See what a plan says before you go on: it may undo what the other one does."
		command = "kubewright plan"
	}
	p.prose(next)
	p.line()
	p.line("  " + command)
}

// farness returns how far a run came.
func farness(plan *planner.Plan, outcome *executor.Outcome) (head, far string) {
	cut := 0
	for _, s := range outcome.Steps {
		if executor.IsCutShort(s.Err) {
			cut++
		}
	}
	parts := []string{strconv.Itoa(outcome.Done) + " of " + plural(len(outcome.Steps), "step") + " done"}
	for _, c := range []struct {
		n    int
		word string
	}{{outcome.Failed - cut, " failed"}, {cut, " cut short"}, {outcome.Skipped, " skipped"}, {outcome.Cancelled, " not started"}} {
		if c.n > 0 {
			parts = append(parts, strconv.Itoa(c.n)+c.word)
		}
	}
	head = "Apply"
	if plan.Destroy {
		head = "Destroy"
	}
	if outcome.Stopped {
		return head + " stopped", list(parts)
	}
	return head + " incomplete", list(parts)
}

// NotConverged warns that a plan right after an apply still finds differences.
func NotConverged(w io.Writer, plan *planner.Plan, o Options) error {
	p := newPage(o)
	summary, detail := notConverged(plan)
	p.line()
	p.line(p.bold(p.yellow("Warning: ")), p.bold(summary))
	p.line()
	p.prose(detail)
	p.line()
	for _, line := range remaining(plan) {
		p.line("  ", line)
	}
	return p.flush(w)
}

const maxRemaining = 20

// notConverged says what it means that a plan is left.
func notConverged(plan *planner.Plan) (summary, detail string) {
	if plan.OnlyProves() {
		return "Not everything runs yet", "Every step was done and hosts are as configured, but what is to run on them does not yet, or not as its file says. kubewright plan shows whether it does by now; what stays down says why in its log on the host. These steps would wait for it:"
	}
	return "Hosts differ from the configuration after the apply",
		"Every step was done, but looking again still shows differences. Either something changes them back, or this is a defect of kubewright. They are:"
}

// remaining lists what a plan would still change, as far as it can be read at a glance.
func remaining(plan *planner.Plan) []string {
	var out []string
	for _, c := range plan.Changes {
		out = append(out, differences(c)...)
	}
	if len(out) == 0 {
		for _, s := range plan.Steps {
			out = append(out, Clean(s.ID.String()))
		}
	}
	if n := len(out); n > maxRemaining {
		out = append(out[:maxRemaining], "… and "+strconv.Itoa(n-maxRemaining)+" more")
	}
	return out
}

func differences(c planner.Change) []string {
	if c.Action != planner.Update || len(c.Attributes) == 0 {
		return []string{Clean(string(c.Action)) + " " + Clean(c.Address.String())}
	}
	var out []string
	for _, a := range c.Attributes {
		out = append(out, Clean(c.Address.WithField(a.Path).String())+": "+inline(shortDigest(a.Before))+" -> "+inline(shortDigest(a.After)))
	}
	return out
}

// timing ends an apply with where the time went: the slowest steps and the
// chain that made the run as long as it was. Of a run of no length it is silent.
func (p runPrinter) timing() {
	t := p.outcome.Timeline(p.plan)
	if !tells(t) || len(t.Steps) < 2 {
		return
	}
	slowest := slices.Clone(t.Steps)
	slices.SortStableFunc(slowest, func(a, b executor.Span) int { return cmp.Compare(b.Seconds, a.Seconds) })
	work := 0.0
	for _, s := range t.Steps {
		work += s.Seconds
	}
	p.line()
	p.prose("Took " + duration(ofSeconds(t.Seconds)) + " for " + plural(len(t.Steps), "step") + "; one after another they would take " + duration(ofSeconds(work)) + ". The slowest:")
	names, width := []string{}, 0
	for _, s := range slowest[:min(len(slowest), maxSlowest)] {
		names = append(names, stepName(s.Step))
		width = max(width, ansi.StringWidth(names[len(names)-1]))
	}
	for i, name := range names {
		p.line("  ", fill(name, width), "  ", duration(ofSeconds(slowest[i].Seconds)))
	}
	printChain(p.page, p.plan, t)
}

// maxSlowest is how many steps the report of an apply names.
const maxSlowest = 5

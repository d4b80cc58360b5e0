package view

import (
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// Complete prints the sentence for a plan that was carried out, and where the
// time went; the outcome is nil when no step ran.
func Complete(w io.Writer, plan *planner.Plan, outcome *executor.Outcome, o Options) error {
	p := newPage(o)
	p.line()
	p.line(p.boldGreen(completed(plan)))
	p.stillToDo(plan)
	if outcome != nil {
		p.timing(plan, outcome)
	}
	return p.flush(w)
}

// stillToDo names what a plan that was carried out had left alone.
func (p *page) stillToDo(plan *planner.Plan) {
	if text := stillToDo(plan); text != "" {
		p.line()
		p.prose("Not everything is done: " + text)
	}
}

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
		return "Destroy complete! Resources: " + itoa(destroy) + " destroyed."
	}
	imported := ""
	if n := plan.Imports(); n > 0 {
		imported = itoa(n) + " imported, "
	}
	return "Apply complete! Resources: " + imported + itoa(add) + " added, " + itoa(change) + " changed, " + itoa(destroy) + " destroyed."
}

// Incomplete prints what became of a run that failed or was stopped: a report
// of each failure, what follows from it, and how to go on.
func Incomplete(w io.Writer, plan *planner.Plan, outcome *executor.Outcome, o Options) error {
	p := newPage(o)
	p.line()
	for _, s := range outcome.Steps {
		if s.Status == executor.StatusFailed {
			p.failure(plan, outcome, s)
		}
	}
	p.remains(plan, outcome, o)
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
func (p *page) failure(plan *planner.Plan, outcome *executor.Outcome, s executor.StepOutcome) {
	body := []string{p.boldRed("Error: ") + p.bold("Step "+undone(s.Err)), "", "  with " + Clean(s.Step.String()) + where(plan, s.Step) + ","}
	body = append(body, "  after "+duration(time.Duration(s.Seconds*float64(time.Second)))+".", "")
	width := p.width
	left := ""
	if p.color {
		width, left = width-2, p.red("│")+" "
	}
	text := reason(s)
	body = append(body, strings.Split(wrap(CleanText(text), width, ""), "\n")...)
	body = append(body, lastWords(s.Err)...)
	if skipped := skippedBy(outcome, s.Step); len(skipped) > 0 {
		body = append(body, "", wrap("Not done because of it: "+list(skipped)+".", width, ""))
	}
	if p.color {
		p.line(p.red("╷"))
	}
	for _, lines := range body {
		for line := range strings.SplitSeq(lines, "\n") {
			p.line(strings.TrimRight(left+line, " "))
		}
	}
	if p.color {
		p.line(p.red("╵"))
	}
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
		out = append(out[:maxSkipped], "and "+itoa(n-maxSkipped)+" more")
	}
	return out
}

// remains says how far the run came and how to go on.
func (p *page) remains(plan *planner.Plan, outcome *executor.Outcome, o Options) {
	head, far := farness(plan, outcome)
	p.line(p.bold(head+": "), far, ".")
	p.line()
	next, command := "What was done is done and recorded. To go on, run the same command again: it looks at the hosts first and plans what is left.", commandFor(plan, o)
	if outcome.Overtaken {
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
	parts := []string{itoa(outcome.Done) + " of " + plural(len(outcome.Steps), "step") + " done"}
	for _, c := range []struct {
		n    int
		word string
	}{{outcome.Failed - cut, " failed"}, {cut, " cut short"}, {outcome.Skipped, " skipped"}, {outcome.Cancelled, " not started"}} {
		if c.n > 0 {
			parts = append(parts, itoa(c.n)+c.word)
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
		out = append(out[:maxRemaining], "… and "+itoa(n-maxRemaining)+" more")
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

// Outputs prints the outputs block that ends an apply; nothing when there are none.
func Outputs(w io.Writer, outputs map[string]state.Value, o Options) error {
	if len(outputs) == 0 {
		return nil
	}
	p := newPage(o)
	p.line()
	p.line(p.boldGreen("Outputs:"))
	p.line()
	p.assign(outputs)
	return p.flush(w)
}

// assign prints values as assignments, aligned.
func (p *page) assign(values map[string]state.Value) {
	width := 0
	for name := range values {
		width = max(width, len(name))
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		p.line(fill(Clean(name), width), " = ", hcl(values[name], ""))
	}
}

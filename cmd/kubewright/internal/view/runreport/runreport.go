package runreport

import (
	"cmp"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/commandline"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/outline"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/progress"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/schedule"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/diagnosis"
	"github.com/kubewright/kubewright/state"
)

// printer prints the outcome of a run.
type printer struct {
	*ui.Page
	plan    *planner.Plan
	outcome *executor.Outcome
}

// Complete prints that a plan was applied, and where the time went; the outcome is nil if no
// step ran.
func Complete(w io.Writer, plan *planner.Plan, outcome *executor.Outcome, o ui.Options) error {
	p := printer{ui.NewPage(o), plan, outcome}
	p.Line()
	p.Line(p.BoldGreen(CompletedSentence(plan)))
	if text := UnfinishedNote(plan); text != "" {
		p.Line()
		p.Prose("Some changes are pending: " + text)
	}
	p.lastSnapshots()
	if outcome != nil {
		p.timing()
	}
	return p.Flush(w)
}

// UnfinishedNote returns what an applied plan has skipped; empty for nothing.
func UnfinishedNote(plan *planner.Plan) string {
	if len(plan.Withheld) == 0 {
		return ""
	}
	waiting := ""
	if n := len(plan.WithheldSteps); n > 0 {
		waiting = " " + outline.WithheldHeadline(plan) + ", as the plan shows."
	}
	var names []string
	for _, u := range plan.Withheld {
		names = append(names, ui.Clean(u.Target.String()))
	}
	pending, reachable := "its changes are", "it is"
	if len(names) > 1 {
		pending, reachable = "their changes are", "they are"
	}
	return ui.CommaList(names) + " could not be observed, so " + pending + " still to be applied." + waiting + " " +
		"Run kubewright " + outline.ApplyCommand(plan) + " again when " + reachable + " reachable."
}

// CompletedSentence returns the sentence that ends an applied plan.
func CompletedSentence(plan *planner.Plan) string {
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

// Incomplete prints the end of a run that failed or was stopped: a report of each failure with
// its consequences, and how to continue.
func Incomplete(w io.Writer, plan *planner.Plan, outcome *executor.Outcome, o ui.Options) error {
	p := printer{ui.NewPage(o), plan, outcome}
	p.Line()
	for _, s := range outcome.Steps {
		if s.Status == executor.StatusFailed {
			p.failure(s)
		}
	}
	p.nextSteps(o)
	p.lastSnapshots()
	return p.Flush(w)
}

// CertificateKey prints a generated certificate key. It is the one secret that is printed: only
// the operator can use it, and it is stored nowhere.
func CertificateKey(w io.Writer, cluster state.Target, key state.Secret, o ui.Options) error {
	p := ui.NewPage(o)
	p.Line()
	p.Line(ui.Wrap("The certificates of "+ui.Clean(cluster.String())+" are in the cluster for two hours, encrypted with this key. It is shown once and kept nowhere.", p.Width, ""))
	p.Line()
	p.Line("  kubeadm join … --control-plane --certificate-key ", ui.Clean(string(key.Reveal())))
	return p.Flush(w)
}

// failure prints one failed step in the form of a finding.
func (p printer) failure(s executor.StepOutcome) {
	body := []string{
		p.BoldRed("Error: ") + p.Bold("Step "+progress.EndWord(s.Err)), "", "  with " + ui.Clean(s.Step.String()) + hostOf(p.plan, s.Step) + ",",
		"  after " + ui.Duration(time.Duration(s.Seconds*float64(time.Second))) + ".", "",
	}
	width := p.FramedWidth()
	body = append(body, strings.Split(ui.Wrap(ui.CleanText(FailureReason(s)), width, ""), "\n")...)
	body = append(body, LastWords(s.Err)...)
	for _, text := range slices.Concat(Remedies(s.Err), p.withoutStep(s.Step)) {
		body = append(body, "")
		body = append(body, strings.Split(ui.Wrap(ui.CleanText(text), width, ""), "\n")...)
	}
	if skipped := skippedBy(p.outcome, s.Step); len(skipped) > 0 {
		body = append(body, "")
		body = append(body, strings.Split(ui.Wrap("Not done because of it: "+ui.CommaList(skipped)+".", width, ""), "\n")...)
	}
	p.Framed(p.Red, body)
	p.Line()
}

// FailureReason returns why a step failed.
func FailureReason(s executor.StepOutcome) string {
	if s.Err == nil {
		return "no reason was given"
	}
	return s.Err.Error()
}

// hostOf returns the host of a step: its node's address, or the node that it went through.
func hostOf(plan *planner.Plan, id state.Address) string {
	target := id.Target
	via := ""
	if s := plan.Step(id); s != nil && target.Type != state.TypeNode && !s.Via.IsZero() {
		target, via = s.Via, "through "+ui.Clean(s.Via.String())
	}
	for _, r := range plan.Resources {
		if r.Target == target && target.Type == state.TypeNode {
			address, _, _ := strings.Cut(ui.Clean(r.Note), ",")
			if via != "" && address != "" {
				return " (" + via + ", " + address + ")"
			}
			return ui.Brackets([]string{address})
		}
	}
	return ui.Brackets([]string{via})
}

// LastWords returns the last lines that a failed command wrote, and those of what does not run on
// its host, with headings.
func LastWords(err error) []string {
	var out []string
	if command, ok := errors.AsType[*providers.CommandError](err); ok && len(command.Stderr) > 1 {
		out = append(out, quoted("The command's last words:", command.Stderr)...)
	}
	if found, ok := errors.AsType[*diagnosis.Error](err); ok {
		for _, c := range found.Causes[:min(len(found.Causes), maxCauses)] {
			if len(c.Log) > 0 {
				out = append(out, quoted("Last lines of "+ui.Clean(c.Subject)+":", c.Log)...)
			}
		}
	}
	return out
}

// Remedies returns what to do about what does not run on the host of a failed step, each once.
func Remedies(err error) []string {
	var out []string
	if found, ok := errors.AsType[*diagnosis.Error](err); ok {
		for _, c := range found.Causes {
			if r := c.Remedy(); r != "" && !slices.Contains(out, "To do: "+r+".") {
				out = append(out, "To do: "+r+".")
			}
		}
	}
	return out
}

// withoutStep returns how to go on without a step that may be left out: a snapshot or backup.
func (p printer) withoutStep(id state.Address) []string {
	saves := func(op planner.Operation) bool {
		switch op.(type) {
		case planner.SnapshotEtcd, planner.TakeBackup:
			return true
		}
		return false
	}
	if s := p.plan.Step(id); s == nil || !slices.ContainsFunc(s.Operations, saves) {
		return nil
	}
	return []string{"To do: mend what keeps it from being taken, as doctor or etcd status shows it. To go on without it, add -" + commandline.SkipPhase + "=" + id.Phase + "."}
}

// quoted returns the last of some lines under a heading.
func quoted(heading string, lines []string) []string {
	out := []string{"", heading, ""}
	for _, line := range lines[max(0, len(lines)-maxStderrLines):] {
		out = append(out, "  "+ui.Clean(line))
	}
	return out
}

const (
	// maxStderrLines is the number of lines of a command or log that are printed.
	maxStderrLines = 12
	// maxCauses is the number of things that do not run whose logs are printed.
	maxCauses = 3
	// maxSkipped is the number of skipped steps that are named.
	maxSkipped = 8
)

// skippedBy returns the steps that were skipped because this one failed.
func skippedBy(outcome *executor.Outcome, cause state.Address) []string {
	var out []string
	for _, s := range outcome.Steps {
		if s.Status == executor.StatusSkipped && s.Cause == cause {
			out = append(out, ui.Clean(s.Step.String()))
		}
	}
	if n := len(out); n > maxSkipped {
		out = append(out[:maxSkipped], "and "+strconv.Itoa(n-maxSkipped)+" more")
	}
	return out
}

// nextSteps prints how far the run came and how to continue.
func (p printer) nextSteps(o ui.Options) {
	head, steps := RunStatus(p.plan, p.outcome)
	p.Line(p.Bold(head+": "), steps, ".")
	p.Line()
	next, command := "What was done is done and recorded. To continue, run the same command again: it observes the hosts first and plans what is left.", outline.Command(p.plan, o)
	if p.outcome.Overtaken {
		next = "Another run has begun, or was let in. What this one has done is found on the hosts. See what a plan says before you continue: it may undo what the other one does."
		command = "kubewright plan"
	}
	p.Prose(next)
	p.Line()
	p.Line("  " + command)
}

// RunStatus returns how far a run came: a heading, and the number of steps by their end.
func RunStatus(plan *planner.Plan, outcome *executor.Outcome) (head, steps string) {
	cut := 0
	for _, s := range outcome.Steps {
		if executor.IsInterrupted(s.Err) {
			cut++
		}
	}
	parts := []string{strconv.Itoa(outcome.Done) + " of " + ui.Plural(len(outcome.Steps), "step") + " done"}
	for _, c := range []struct {
		n    int
		word string
	}{{outcome.Failed - cut, " failed"}, {cut, " interrupted"}, {outcome.Skipped, " skipped"}, {outcome.Cancelled, " not started"}} {
		if c.n > 0 {
			parts = append(parts, strconv.Itoa(c.n)+c.word)
		}
	}
	head = "Apply"
	if plan.Destroy {
		head = "Destroy"
	}
	if outcome.Stopped {
		return head + " stopped", ui.CommaList(parts)
	}
	return head + " incomplete", ui.CommaList(parts)
}

// NotConverged warns that a plan right after an apply still finds differences.
func NotConverged(w io.Writer, plan *planner.Plan, o ui.Options) error {
	p := ui.NewPage(o)
	summary, detail := NotConvergedText(plan)
	p.Line()
	p.Line(p.Bold(p.Yellow("Warning: ")), p.Bold(summary))
	p.Line()
	p.Prose(detail)
	p.Line()
	for _, line := range RemainingChanges(plan) {
		p.Line("  ", line)
	}
	return p.Flush(w)
}

const maxRemaining = 20

// NotConvergedText returns the finding about a plan that finds changes right after an apply.
func NotConvergedText(plan *planner.Plan) (summary, detail string) {
	if plan.OnlyProves() {
		return "Not everything runs yet", "Every step was done and hosts are as configured, but what is to run on them does not yet, or not as its file says. kubewright plan shows whether it does by now; what stays down says why in its log on the host. These steps would wait for it:"
	}
	return "Hosts differ from the configuration after the apply",
		"Every step was done, but looking again still shows differences. Either something changes them back, or the plan held them back, as its warnings say, or this is a defect of kubewright. They are:"
}

// RemainingChanges returns what a plan would still change, one change per line.
func RemainingChanges(plan *planner.Plan) []string {
	var out []string
	for _, c := range plan.Changes {
		out = append(out, changeLines(c)...)
	}
	if len(out) == 0 {
		for _, s := range plan.Steps {
			out = append(out, ui.Clean(s.ID.String()))
		}
	}
	if n := len(out); n > maxRemaining {
		out = append(out[:maxRemaining], "… and "+strconv.Itoa(n-maxRemaining)+" more")
	}
	return out
}

func changeLines(c planner.Change) []string {
	if c.Action != planner.Update || len(c.Attributes) == 0 {
		return []string{ui.Clean(string(c.Action)) + " " + ui.Clean(c.Address.String())}
	}
	var out []string
	for _, a := range c.Attributes {
		out = append(out, ui.Clean(c.Address.WithField(a.Path).String())+": "+ui.Inline(ui.ShortDigest(a.Before))+" -> "+ui.Inline(ui.ShortDigest(a.After)))
	}
	return out
}

// timing prints where the time of an apply went: the slowest steps and the longest chain. It
// prints nothing for a run that took no time.
func (p printer) timing() {
	t := p.outcome.Timeline(p.plan)
	if !schedule.Measurable(t) || len(t.Steps) < 2 {
		return
	}
	slowest := slices.Clone(t.Steps)
	slices.SortStableFunc(slowest, func(a, b executor.Span) int { return cmp.Compare(b.Seconds, a.Seconds) })
	work := 0.0
	for _, s := range t.Steps {
		work += s.Seconds
	}
	p.Line()
	p.Prose("Took " + ui.Duration(schedule.ToDuration(t.Seconds)) + " for " + ui.Plural(len(t.Steps), "step") + "; one after another they would take " + ui.Duration(schedule.ToDuration(work)) + ". The slowest:")
	names, width := []string{}, 0
	for _, s := range slowest[:min(len(slowest), maxSlowest)] {
		names = append(names, ui.StepName(s.Step))
		width = max(width, ansi.StringWidth(names[len(names)-1]))
	}
	for i, name := range names {
		p.Line("  ", ui.Fill(name, width), "  ", ui.Duration(schedule.ToDuration(slowest[i].Seconds)))
	}
	schedule.PrintLongestChain(p.Page, p.plan, t)
}

// maxSlowest is the number of slowest steps that are printed.
const maxSlowest = 5

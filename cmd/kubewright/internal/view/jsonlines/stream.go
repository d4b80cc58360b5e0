package jsonlines

import (
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/outline"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/planjson"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/progress"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/runreport"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/schedule"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/state"
)

// Stream prints everything as one JSON object per line, in the types of Terraform's
// machine-readable output. Every line has @level, @message, @module, @timestamp and type; a reader
// that does not know a type shows its message. It implements progress.Renderer.
type Stream struct {
	mu  sync.Mutex
	w   io.Writer
	now func() time.Time
	// steps are the steps of the plan, and reasons the reason of each resource.
	steps   map[state.Address]planjson.Step
	reasons map[string]string
	err     error
}

// New returns a stream; now is the time of lines that are not events.
func New(w io.Writer, now func() time.Time) *Stream {
	return &Stream{w: w, now: now, steps: map[state.Address]planjson.Step{}, reasons: map[string]string{}}
}

// record is one line.
type record map[string]any

// setText sets a field, unless the text is empty.
func (r record) setText(name, text string) {
	if text != "" {
		r[name] = text
	}
}

// setExpected sets how long a step takes, if that is known from earlier applies.
func (r record) setExpected(s planjson.Step) {
	if s.Estimate != nil {
		r["expected_seconds"] = *s.Estimate
	}
}

func (j *Stream) emit(at time.Time, level, kind, message string, more record) {
	r := record{
		"@level": level, "@message": ui.Clean(message), "@module": "kubewright.ui",
		"@timestamp": at.UTC().Format("2006-01-02T15:04:05.000000Z"), "type": kind,
	}
	for k, v := range more {
		r[k] = v
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := ui.WriteJSONLine(j.w, r); err != nil && j.err == nil {
		j.err = err
	}
}

// Version opens the stream.
func (j *Stream) Version(tool string) {
	j.emit(j.now(), "info", "version", "kubewright "+tool, record{"kubewright": tool, "ui": ui.JSONVersion})
}

// Diagnostics prints findings.
func (j *Stream) Diagnostics(list diag.Diagnostics, source func(file string) []byte) {
	for _, d := range list {
		level, word := "error", "Error: "
		if d.Severity == diag.Warning {
			level, word = "warn", "Warning: "
		}
		j.emit(j.now(), level, "diagnostic", word+d.Summary, record{"diagnostic": d.JSON(source)})
	}
}

// Plan prints a plan: the drift, the changes, the summary, and all of it as one document.
func (j *Stream) Plan(plan *planner.Plan, o ui.Options) error {
	document := planjson.New(plan, o)
	for _, s := range document.Steps {
		j.steps[s.ID] = s
	}
	for _, r := range document.ResourceChanges {
		j.reasons[r.Address] = r.Reason
	}
	for _, d := range plan.Drift {
		j.emit(j.now(), "info", "resource_drift", d.Address.String()+": Drift detected ("+string(d.Action)+")",
			record{"change": record{"resource": resourceRecord(d.Address.Target), "action": d.Action, "item": planjson.NewItem(outline.WithoutOrigins(d))}})
	}
	for _, r := range plan.Resources {
		if r.ImportedFrom != "" {
			j.emit(j.now(), "info", "planned_change", r.Target.String()+": Plan to import",
				record{"change": record{"resource": resourceRecord(r.Target), "action": "import", "importing": record{"id": r.ImportedFrom}}})
		}
		if r.Action == planner.NoOp {
			continue
		}
		change := record{"resource": resourceRecord(r.Target), "action": r.Action}
		change.setText("reason", j.reasons[r.Target.String()])
		j.emit(j.now(), "info", "planned_change", r.Target.String()+": Plan to "+string(r.Action), record{"change": change})
	}
	for _, u := range plan.Withheld {
		text := strings.TrimSpace("It could not be observed: " + ui.CleanText(u.Reason) + "\n" + ui.CleanText(u.Remedy))
		j.Diagnostics(diag.Diagnostics{diag.Warningf("Target is left alone", "%s", text).For(u.Target)}, nil)
	}
	for i, w := range outline.Withheld(plan) {
		j.emit(j.now(), "warn", "withheld", w.Address+": Withheld: "+w.Why,
			record{"withheld": record{"resource": resourceRecord(plan.WithheldSteps[i].Step.Target), "step": w.Address, "action": plan.WithheldSteps[i].Action, "reason": w.Why, "what": w.What}})
	}
	j.summary("plan", plan, "Plan: "+outline.Counts(plan))
	if n := len(outline.ChangedOutputs(o.Recorded.Outputs, plan.Outputs)); n > 0 {
		outputs := planjson.Outputs(plan.Outputs)
		j.emit(j.now(), "info", "outputs", "Changes to Outputs: "+strconv.Itoa(n), record{"outputs": outputs})
	}
	j.emit(j.now(), "info", "plan", "The plan as one document", record{"plan": document})
	return j.Close()
}

// Complete prints the summary of an applied plan, where the time went, and its outputs; the
// outcome is nil if no step ran.
func (j *Stream) Complete(plan *planner.Plan, outcome *executor.Outcome) error {
	operation := "apply"
	if plan.Destroy {
		operation = "destroy"
	}
	j.summary(operation, plan, runreport.CompletedSentence(plan))
	if text := runreport.UnfinishedNote(plan); text != "" {
		j.Diagnostics(diag.Diagnostics{diag.Warningf("Some changes are pending", "%s", text)}, nil)
	}
	j.lastSnapshots(plan, outcome)
	if outcome != nil {
		j.timing(plan, outcome)
	}
	if len(plan.Outputs) > 0 {
		j.emit(j.now(), "info", "outputs", "Outputs: "+strconv.Itoa(len(plan.Outputs)), record{"outputs": planjson.Outputs(plan.Outputs)})
	}
	return j.Close()
}

// lastSnapshots prints where the snapshots of destroyed clusters are.
func (j *Stream) lastSnapshots(plan *planner.Plan, outcome *executor.Outcome) {
	for _, l := range runreport.LastSnapshots(plan, outcome) {
		j.emit(j.now(), "info", "last_snapshot", l.String(), record{"last_snapshot": record{"cluster": l.Cluster.String(), "path": l.Path}})
	}
}

// timing prints how long each step took, and the longest chain.
func (j *Stream) timing(plan *planner.Plan, outcome *executor.Outcome) {
	t := outcome.Timeline(plan)
	steps := []record{}
	for _, s := range t.Steps {
		steps = append(steps, record{"step": s.Step.String(), "start": s.Start, "seconds": s.Seconds})
	}
	critical := []string{}
	for _, s := range t.Critical {
		critical = append(critical, s.Step.String())
	}
	j.emit(j.now(), "info", "timing", "Took "+ui.Duration(schedule.ToDuration(t.Seconds))+" for "+ui.Plural(len(t.Steps), "step"),
		record{"seconds": t.Seconds, "steps": steps, "critical_path": critical})
}

// Incomplete prints why a run failed or was stopped, and how to continue.
func (j *Stream) Incomplete(plan *planner.Plan, outcome *executor.Outcome, o ui.Options) error {
	for _, s := range outcome.Steps {
		if s.Status == executor.StatusFailed {
			text := strings.Join(slices.Concat([]string{ui.CleanText(runreport.FailureReason(s))}, runreport.LastWords(s.Err), runreport.Remedies(s.Err)), "\n")
			j.Diagnostics(diag.Diagnostics{diag.Errorf("Step "+progress.EndWord(s.Err), "%s", text).For(s.Step)}, nil)
		}
	}
	j.lastSnapshots(plan, outcome)
	head, steps := runreport.RunStatus(plan, outcome)
	j.emit(j.now(), "error", "log", head+": "+steps+". To continue: "+outline.Command(plan, o), nil)
	return j.Close()
}

// NotConverged warns that a plan right after an apply still finds differences.
func (j *Stream) NotConverged(plan *planner.Plan) error {
	summary, detail := runreport.NotConvergedText(plan)
	text := detail + "\n  " + strings.Join(runreport.RemainingChanges(plan), "\n  ")
	j.Diagnostics(diag.Diagnostics{diag.Warningf(summary, "%s", text)}, nil)
	return j.Close()
}

func (j *Stream) summary(operation string, plan *planner.Plan, sentence string) {
	add, change, remove := plan.Counts()
	j.emit(j.now(), "info", "change_summary", sentence, record{"changes": record{"add": add, "change": change, "remove": remove, "operation": operation}})
}

// TestRun prints how a run of a test file ended.
func (j *Stream) TestRun(file, run, status string, seconds float64) {
	j.emit(j.now(), levelOf(status), "test_run", file+": run "+strconv.Quote(run)+": "+status,
		record{"test_run": record{"path": file, "run": run, "status": status, "elapsed_seconds": seconds}})
}

// TestFile prints how a test file ended.
func (j *Stream) TestFile(file, status string) {
	j.emit(j.now(), levelOf(status), "test_file", file+": "+status, record{"test_file": record{"path": file, "status": status}})
}

// TestSummary prints how all test files ended.
func (j *Stream) TestSummary(status string, passed, failed, skipped int, sentence string) {
	j.emit(j.now(), levelOf(status), "test_summary", sentence, record{"test_summary": record{"status": status, "passed": passed, "failed": failed, "skipped": skipped}})
}

// levelOf returns the level of a line about a test with this status.
func levelOf(status string) string {
	if status == "pass" || status == "skip" {
		return "info"
	}
	return "error"
}

func resourceRecord(t state.Target) record {
	r := record{"addr": t.String(), "resource": t.String(), "resource_type": t.Type, "resource_name": t.Name, "resource_key": nil}
	if t.Keyed {
		r["resource_key"] = t.Key
	}
	return r
}

// Event implements progress.Renderer.
func (j *Stream) Event(e executor.Event) {
	step := j.steps[e.Step]
	hook := record{"resource": resourceRecord(e.Step.Target), "step": e.Step.String(), "action": step.Action}
	more := record{"seq": e.Seq, "done": e.Done, "total": e.Total}
	if !e.Step.Target.IsZero() {
		more["hook"] = hook
	}
	name := ui.StepName(e.Step)
	if e.Seconds > 0 {
		hook["elapsed_seconds"] = e.Seconds
	}
	after := ui.Duration(time.Duration(e.Seconds * float64(time.Second)))
	switch e.Kind {
	case executor.KindStarted:
		hook.setExpected(step)
		hook.setText("impact", ui.Clean(step.Impact))
		hook.setText("reason", j.reasons[e.Step.Target.String()])
		j.emit(e.Time, "info", "apply_start", name+": started", more)
	case executor.KindOp:
		hook["op"], hook["ops"], hook["operation"] = e.Op, e.Ops, e.Summary
		j.emit(e.Time, "info", "apply_operation", name+": "+e.Summary, more)
	case executor.KindHeartbeat:
		hook.setExpected(step)
		j.emit(e.Time, "info", "apply_progress", name+": still applying ["+after+" elapsed]", more)
	case executor.KindDone:
		j.emit(e.Time, "info", "apply_complete", name+": done after "+after, more)
	case executor.KindFailed:
		j.emit(e.Time, "error", "apply_errored", name+": "+progress.EndWord(e.Err)+" after "+after+": "+errorText(e.Err), more)
	case executor.KindSkipped:
		hook["cause"] = e.Cause.String()
		j.emit(e.Time, "warn", "apply_skipped", name+": skipped, because "+e.Cause.String()+" was not done", more)
	case executor.KindCancelled:
		j.emit(e.Time, "warn", "apply_skipped", name+": not started, because the run was stopped", more)
	case executor.KindLog, executor.KindStopping:
		j.emit(e.Time, "info", "log", name+": "+e.Summary, more)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Tick implements progress.Renderer; the executor's own heartbeats are enough.
func (j *Stream) Tick(time.Time) {}

// Note implements progress.Renderer.
func (j *Stream) Note(text string) { j.emit(j.now(), "info", "log", text, nil) }

// Close implements progress.Renderer; it returns the first error of writing.
func (j *Stream) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}

package logged

import (
	"time"

	"github.com/kubewright/kubewright/planner/executor"
)

// Event logs an event of the executor.
func (l *Log) Event(e executor.Event) {
	if l == nil {
		return
	}
	step := e.Step.String()
	after := time.Duration(e.Seconds * float64(time.Second))
	switch e.Kind {
	case executor.KindRun:
		l.Info("run begins", "steps", e.Total)
	case executor.KindStarted:
		l.Info("step begins", "step", step)
	case executor.KindOp:
		l.Debug("operation begins", "step", step, "operation", e.Summary, "number", e.Op+1, "of", e.Ops)
	case executor.KindOpDone:
		l.Debug("operation ended", "step", step, "number", e.Op+1, "of", e.Ops)
	case executor.KindLog:
		l.Info("step says", "step", step, "text", e.Summary)
	case executor.KindOutput:
		l.Debug("command says", "step", step, "number", e.Op+1, "of", e.Ops, "text", e.Summary)
	case executor.KindHeartbeat:
		l.Debug("step continues", "step", step, "duration", after)
	case executor.KindDone:
		l.Info("step ended", "step", step, "duration", after)
	case executor.KindFailed:
		l.Error("step failed", "step", step, "duration", after, "error", e.Err)
	case executor.KindSkipped:
		l.Warn("step skipped", "step", step, "cause", e.Cause)
	case executor.KindCancelled:
		l.Warn("step not begun", "step", step)
	case executor.KindStopping:
		l.Warn("nothing new begins", "why", e.Summary)
	case executor.KindFinished:
		l.Info("run ended", "duration", after)
	}
}

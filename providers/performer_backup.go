package providers

import (
	"context"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// BackupName is the output of TakeBackup.
const BackupName = "backup"

// takeBackup has the host take a backup unless the interrupted plan that this run continues has had it take
// one recently enough.
func (w *work) takeBackup(ctx context.Context, op planner.TakeBackup) error {
	if since := w.continued(op.MaxAge); !since.IsZero() {
		op.Since = since.Unix()
	}
	done, err := w.performHost(ctx, []planner.Operation{op})
	if err != nil {
		return err
	}
	for _, o := range done {
		w.outputs[BackupName] = Output{Value: state.String(o.Output)}
		if o.Changed {
			w.log("backup " + o.Output + " is complete")
		} else {
			w.log("the interrupted plan has taken a backup that is recent enough: " + o.Output)
		}
	}
	return nil
}

// continued returns the time since when what a step has left counts as done: the plan that this run continues
// has begun then, at most maxAge ago. It is zero for a run that continues none.
func (w *work) continued(maxAge time.Duration) time.Time {
	if w.Interrupted == nil || maxAge <= 0 {
		return time.Time{}
	}
	since := w.Interrupted(w.step.ID)
	if since.IsZero() {
		return since
	}
	return later(since, w.Clock.Now().Add(-maxAge))
}

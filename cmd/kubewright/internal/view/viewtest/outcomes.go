package viewtest

import (
	"errors"
	"fmt"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// FinishedRun returns an outcome in which all steps ran one after another, each a second longer.
func FinishedRun(plan *planner.Plan) *executor.Outcome {
	out := &executor.Outcome{Done: len(plan.Steps), Outputs: executor.Outputs{}}
	for i, s := range plan.Steps {
		if s.Phase == "etcd-snapshot" {
			out.Outputs[s.ID.String()] = map[string]executor.Output{providers.SnapshotPath: {Value: state.String("/prod/kubewright.snapshots/prod-20260302T090000Z-r4711-cdf818194e3a8c32.db")}}
		}
		out.Steps = append(out.Steps, executor.StepOutcome{Step: s.ID, Status: executor.StatusDone, Start: out.Seconds, Seconds: float64(i + 1)})
		out.Seconds += float64(i + 1)
	}
	return out
}

// FailedRun returns an outcome in which the founder's etcd fails.
func FailedRun(plan *planner.Plan) *executor.Outcome {
	out := &executor.Outcome{Seconds: 40}
	var cause state.Address
	for _, s := range plan.Steps {
		o := executor.StepOutcome{Step: s.ID, Status: executor.StatusDone, Seconds: 1}
		switch {
		case s.ID == ID(Cp1, "etcd"):
			cause = s.ID
			o.Status, o.Seconds = executor.StatusFailed, 30
			o.Err = fmt.Errorf("operation 3 of 5 (start kubelet.service): %w", &providers.CommandError{
				Host: "10.77.0.11", Command: "start unit kubelet.service", ExitCode: 1,
				Stderr: []string{"Job for kubelet.service failed because the control process exited with error code.", "See \"systemctl status kubelet.service\" \x1b[31mfor details."},
			})
			out.Failed++
		case !cause.Target.IsZero() && s.Phase != "prepare" && s.Phase != "images" && s.ID != ID(Cp1, "kubeconfig"):
			o.Status, o.Cause = executor.StatusSkipped, cause
			out.Skipped++
		case s.ID == ID(Prod, "addon"):
			o.Status, o.Err = executor.StatusFailed, errors.New("x")
		default:
			out.Done++
		}
		out.Steps = append(out.Steps, o)
	}
	return out
}

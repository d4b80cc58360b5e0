package session

import (
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/commandline"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state"
)

// flagsToRepeat are NAME=VALUE of the flags that a plan does not hold, and without which the
// same command would read something else. The value of a variable may be a secret: only its
// name is given.
func flagsToRepeat(a *workspace.Workspace, o Options) []string {
	var out []string
	if a.Chdir != "" {
		out = append(out, "chdir="+a.Chdir)
	}
	if a.StatePath != "" {
		out = append(out, "state="+a.StatePath)
	}
	if o.AllowOlderState {
		out = append(out, commandline.AllowOlderState+"=true")
	}
	for _, v := range o.Vars {
		if v.File != "" {
			out = append(out, "var-file="+v.File)
			continue
		}
		name, _, _ := strings.Cut(v.Assignment, "=")
		out = append(out, "var="+name+"=…")
	}
	return out
}

// Show prints the plan.
func (s *Session) Show() error { return s.Screen().Plan(s.Result.Plan, s.PlanView()) }

// PlanView returns the options for showing a plan, with the recorded values.
func (s *Session) PlanView() ui.Options {
	o := s.Options()
	o.Recorded, o.Parallelism = ui.Recorded{Outputs: PriorOutputs(s.Recorded), Durations: Durations(s.Recorded)}, s.Opts.Parallelism
	return o
}

// Durations returns the durations in the state.
func Durations(recorded *state.State) map[string]float64 {
	if recorded == nil {
		return nil
	}
	return recorded.Durations
}

// PriorOutputs returns the outputs in the state.
func PriorOutputs(recorded *state.State) map[string]state.Value {
	if recorded == nil {
		return nil
	}
	return recorded.Outputs
}

// OutputsChange reports whether the plan's outputs differ from the state's.
func (s *Session) OutputsChange() bool {
	return !maps.EqualFunc(PriorOutputs(s.Recorded), s.Result.Plan.Outputs, state.Value.Equal)
}

// Permits reports whether the operator permits to apply plans without what could not be observed: by
// the flag, or in the block of a cluster.
func Permits(s *Session) bool {
	return s.Opts.AllowUnreachable || slices.ContainsFunc(s.Config.Clusters, func(c *config.Cluster) bool { return c.OnUnreachable == config.Withhold })
}

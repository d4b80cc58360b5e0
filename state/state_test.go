package state_test

import (
	"testing"
	"time"

	"github.com/kubewright/kubewright/state"
)

// TestInterruptedApplyContinues checks that a plan continues if the last apply was interrupted and has begun
// the step, and that the time is that of the first interrupted apply in a row.
func TestInterruptedApplyContinues(t *testing.T) {
	t.Parallel()
	step := state.Address{Target: state.ClusterTarget("prod"), Phase: "etcd-snapshot"}
	at := func(minute int) time.Time { return time.Date(2026, 3, 2, 9, minute, 0, 0, time.UTC) }
	ended := func(minute int) state.Apply { return state.Apply{Time: at(minute), Steps: 3} }
	cut := func(minute int, begun ...string) state.Apply {
		return state.Apply{Time: at(minute), Steps: 3, Unfinished: true, Begun: begun}
	}
	for name, c := range map[string]struct {
		applies []state.Apply
		want    time.Time
	}{
		"nothing was applied":      {nil, time.Time{}},
		"the last one ended":       {[]state.Apply{cut(1, step.String()), ended(2)}, time.Time{}},
		"it was interrupted":       {[]state.Apply{ended(1), cut(2, "cluster.prod/certs", step.String())}, at(2)},
		"it was interrupted again": {[]state.Apply{ended(1), cut(2), cut(3, step.String())}, at(2)},
		"it was refresh-only then": {[]state.Apply{ended(1), cut(2, step.String()), {Time: at(3)}}, at(2)},
		"the step was not reached": {[]state.Apply{cut(1), cut(2, "cluster.prod/certs")}, time.Time{}},
	} {
		if got := (&state.State{Applies: c.applies}).Interrupted(step); !got.Equal(c.want) {
			t.Errorf("%s: since %v, want %v", name, got, c.want)
		}
	}
}

// TestMatched checks that a difference is dated by the last apply that covered everything and was
// completed, and by nothing else.
func TestMatched(t *testing.T) {
	t.Parallel()
	at := func(hour int) time.Time { return time.Date(2026, time.March, 2, hour, 0, 0, 0, time.UTC) }
	whole := state.Apply{Steps: 3, Job: state.Job{Observed: at(9)}}
	for name, c := range map[string]struct {
		then state.Apply
		want time.Time
	}{
		"another one":    {state.Apply{Steps: 1, Job: state.Job{Observed: at(10)}}, at(10)},
		"a part":         {state.Apply{Steps: 1, Job: state.Job{Observed: at(10), Restricted: true}}, at(9)},
		"failed":         {state.Apply{Steps: 1, Failed: 1, Unfinished: true, Job: state.Job{Observed: at(10)}}, at(9)},
		"only the state": {state.Apply{Job: state.Job{Observed: at(10), Restricted: true}}, at(9)},
		"older version":  {state.Apply{Steps: 1}, time.Time{}},
	} {
		if got := (&state.State{Applies: []state.Apply{whole, c.then}}).Matched(); !got.Equal(c.want) {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
	if got := (*state.State)(nil).Matched(); !got.IsZero() {
		t.Errorf("without a state: %s", got)
	}
}

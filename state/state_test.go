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

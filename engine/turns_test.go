package engine

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// TestTurnsAreTakenOneByOne checks that a worker that asks for a turn sees the turns already taken, each from
// its gate to the end of its own step, and that a refused worker has none.
func TestTurnsAreTakenOneByOne(t *testing.T) {
	t.Parallel()
	var ts turns
	w1, w2 := state.NodeKeyTarget("worker", "w1"), state.NodeKeyTarget("worker", "w2")
	ask := func(target state.Target, answer error, want ...state.Target) {
		t.Helper()
		err := ts.take(target, func(turn map[state.Target]bool) error {
			if got := slices.Collect(maps.Keys(turn)); !slices.Equal(got, want) {
				t.Errorf("%s sees the turns of %v, want %v", target, got, want)
			}
			return answer
		})
		if !errors.Is(err, answer) {
			t.Errorf("%s gets %v", target, err)
		}
	}
	refused := errors.New("refused")
	ask(w1, refused)
	ask(w1, nil)
	ts.end(&planner.Step{Target: w1}) // a step without the gate, such as labels
	ask(w2, refused, w1)
	ts.end(&planner.Step{Target: w1, Gates: []string{planner.WorkersGate}})
	ask(w2, nil)
}

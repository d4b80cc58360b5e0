package state_test

import (
	"math"
	"slices"
	"testing"

	"github.com/kubewright/kubewright/state"
)

func TestRunTokenFromSeenRuns(t *testing.T) {
	t.Parallel()
	cp := func(name string, token int64) state.SeenRun {
		return state.SeenRun{Target: state.NodeKeyTarget("cp", name), ControlPlane: true, Token: token}
	}
	w := func(name string, token int64) state.SeenRun {
		return state.SeenRun{Target: state.NodeKeyTarget("worker", name), Token: token}
	}
	const top = math.MaxInt64
	for name, tt := range map[string]struct {
		recorded, leased   int64
		seen               []state.SeenRun
		next, last         int64
		older, ahead, void []string
		cut                bool
	}{
		"first run":                    {next: 1},
		"hosts as the state":           {recorded: 7, seen: []state.SeenRun{cp("a", 7), w("b", 3)}, next: 8},
		"blank host":                   {recorded: 7, seen: []state.SeenRun{cp("a", 0)}, next: 8},
		"worker says the top":          {recorded: 7, seen: []state.SeenRun{cp("a", 7), w("b", top), w("c", 7)}, next: 8, void: []string{"b"}},
		"worker says one less":         {recorded: 7, seen: []state.SeenRun{cp("a", 7), w("b", top-1), w("c", 7)}, next: 8, void: []string{"b"}},
		"worker says below zero":       {recorded: 7, seen: []state.SeenRun{cp("a", 7), w("b", math.MinInt64)}, next: 8, void: []string{"b"}},
		"worker at the window":         {recorded: 7, seen: []state.SeenRun{cp("a", 7), w("b", 1007), w("c", 7)}, next: 1008, ahead: []string{"b"}},
		"worker beyond the window":     {recorded: 7, seen: []state.SeenRun{cp("a", 7), w("b", 1008), w("c", 7)}, next: 8, void: []string{"b"}},
		"half of the workers":          {recorded: 7, seen: []state.SeenRun{cp("a", 7), cp("b", 6), w("c", 9), w("d", 9)}, next: 10, ahead: []string{"c", "d"}},
		"most hosts are workers":       {recorded: 7, seen: []state.SeenRun{cp("a", 7), w("b", 9), w("c", 9)}, next: 10, last: 9, older: []string{"b", "c"}},
		"most hosts, beyond the next":  {recorded: 7, seen: []state.SeenRun{cp("a", 7), w("b", 5009), w("c", 5009)}, next: 5010, last: 5009, older: []string{"b", "c"}},
		"a control plane":              {recorded: 7, seen: []state.SeenRun{cp("a", 8), w("b", 7), w("c", 7)}, next: 9, last: 8, older: []string{"a"}},
		"a control plane, far ahead":   {recorded: 7, seen: []state.SeenRun{cp("a", 80000), w("b", 7), w("c", 7)}, next: 80001, last: 80000, older: []string{"a"}},
		"old state and a lie":          {recorded: 7, seen: []state.SeenRun{cp("a", 9), w("b", top), w("c", 9)}, next: 10, last: 9, older: []string{"a", "c"}, void: []string{"b"}},
		"old state, worker beyond":     {recorded: 7, seen: []state.SeenRun{cp("a", 9), w("b", 10), w("c", 7)}, next: 11, last: 9, older: []string{"a"}, ahead: []string{"b"}},
		"control plane says the top":   {recorded: 7, seen: []state.SeenRun{cp("a", top), w("b", 7)}, next: 8, void: []string{"a"}},
		"interrupted":                  {recorded: 7, leased: 8, seen: []state.SeenRun{cp("a", 8), w("b", 7)}, next: 9, last: 8, older: []string{"a"}, cut: true},
		"interrupted after another":    {recorded: 7, leased: 9, seen: []state.SeenRun{cp("a", 9), w("b", 7)}, next: 10, last: 9, older: []string{"a"}},
		"lease of a run before":        {recorded: 7, leased: 7, seen: []state.SeenRun{cp("a", 8), w("b", 7)}, next: 9, last: 8, older: []string{"a"}},
		"the whole fleet and state":    {recorded: top, leased: top, seen: []state.SeenRun{cp("a", top), w("b", top)}, next: 1, void: []string{"a", "b"}},
		"the fleet, not the state":     {recorded: 7, seen: []state.SeenRun{cp("a", top), w("b", top)}, next: 8, void: []string{"a", "b"}},
		"the state, half of the fleet": {recorded: top, seen: []state.SeenRun{cp("a", 3), w("b", top)}, next: 4, void: []string{"b"}},
		"the state alone":              {recorded: math.MinInt64, seen: []state.SeenRun{cp("a", 3), w("b", 5)}, next: 6, ahead: []string{"b"}},
		"at the end":                   {recorded: state.MaxRunToken, seen: []state.SeenRun{cp("a", state.MaxRunToken)}, next: state.MaxRunToken + 1},
		"over the end":                 {recorded: state.MaxRunToken + 1, seen: []state.SeenRun{cp("a", state.MaxRunToken+1)}, next: 1, void: []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := state.WeighRuns(tt.recorded, tt.leased, tt.seen)
			if got.Next != tt.next || got.Seen != tt.last || got.Interrupted != tt.cut ||
				!slices.Equal(keys(got.Older), tt.older) || !slices.Equal(keys(got.Ahead), tt.ahead) || !slices.Equal(keys(got.Void), tt.void) {
				t.Errorf("got %+v", got)
			}
			// Hosts may answer in any order.
			slices.Reverse(tt.seen)
			if again := state.WeighRuns(tt.recorded, tt.leased, tt.seen); again.Next != got.Next || again.Seen != got.Seen || len(again.Void) != len(got.Void) {
				t.Errorf("got %+v in the reverse order, and %+v", again, got)
			}
		})
	}
}

func keys(seen []state.SeenRun) []string {
	var out []string
	for _, s := range seen {
		out = append(out, s.Target.Key)
	}
	return out
}

// TestInvalidRunTokenIsReplaced checks that a state with an invalid number takes over the next run's token.
func TestInvalidRunTokenIsReplaced(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ recorded, next, want int64 }{
		{0, 1, 1},
		{7, 8, 8},
		{8, 7, 8},
		{math.MaxInt64, 1, 1},
		{math.MinInt64, 1, 1},
		{7, math.MaxInt64, 7},
		{7, math.MinInt64, 7},
		{math.MaxInt64, math.MinInt64, 0},
		{state.MaxRunToken, state.MaxRunToken + 1, state.MaxRunToken},
	} {
		if got := state.LaterRun(tt.recorded, tt.next); got != tt.want {
			t.Errorf("LaterRun(%d, %d) = %d, want %d", tt.recorded, tt.next, got, tt.want)
		}
	}
}

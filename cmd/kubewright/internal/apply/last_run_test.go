package apply

import (
	"testing"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/statefile"
)

// TestLastRun checks whose lease a run takes over at once: that of a run which was killed, or of the last
// one that the state records as ended, and never one that has not ended.
func TestLastRun(t *testing.T) {
	t.Parallel()
	applies := func(ended ...time.Time) *state.State {
		st := &state.State{}
		for i, at := range ended {
			st.Applies = append(st.Applies, state.Apply{Run: string(rune('a' + i)), Ended: at})
		}
		return st
	}
	now := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name, killed string
		recorded     *state.State
		want         string
	}{
		{"no state", "", nil, ""},
		{"no run", "", applies(), ""},
		{"the last has ended", "", applies(now, now), "b"},
		{"the last has not ended", "", applies(now, time.Time{}), ""},
		{"killed", "k", applies(now), "k"},
	} {
		s := &session.Session{Ended: statefile.LockInfo{ID: tt.killed}}
		s.Recorded = tt.recorded
		if got := lastRun(s); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

package providers_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
)

// TestBackupIsTakenPerPlan checks that the host is asked for a backup of this plan, or of the interrupted one
// that it continues, at most as old as the operation says, and that its error is that of the step.
func TestBackupIsTakenPerPlan(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		interrupted time.Time
		want        int64
	}{
		"continues none":             {time.Time{}, 0},
		"continues one":              {now.Add(-5 * time.Minute), now.Add(-5 * time.Minute).Unix()},
		"continues one of yesterday": {now.Add(-24 * time.Hour), now.Add(-15 * time.Minute).Unix()},
	} {
		s := newScene()
		s.now, s.interrupted = now, c.interrupted
		op := planner.TakeBackup{Script: "/etc/x", Before: "a member is removed", MaxAge: 15 * time.Minute}
		out, err := s.perform(t, providers.Run{}, op)
		if _, named := out[providers.BackupName]; err != nil || !named {
			t.Errorf("%s: %v, %v", name, out, err)
		}
		if op.Since = c.want; len(s.batches) != 1 || s.batches[0].Operations[0] != planner.Operation(op) {
			t.Errorf("%s: got %+v, want %+v", name, s.batches, op)
		}
		if got := strings.Join(s.did("log"), "\n"); !strings.Contains(got, "the interrupted plan has taken a backup that is recent enough") {
			t.Errorf("%s: it says %s", name, got)
		}
		s.hostErr = errors.New("no space left on device")
		if _, err := s.perform(t, providers.Run{}, op); !errors.Is(err, s.hostErr) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package listing

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/state"
)

// TestHistoryOfOlderEntries checks that entries without the fields that were added later show what
// they have, and that a hostile text moves no cursor.
func TestHistoryOfOlderEntries(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)
	st := &state.State{Applies: []state.Apply{
		{Time: at, Run: "r1", Plan: "0123456789abcdef0123", Who: "ada\x1b[2J@laptop", Steps: 3},
		{Time: at, Run: "r2", Steps: 3, Failed: 2, Unfinished: true},
		{Time: at, Run: "r3", Steps: 3, Done: 3, Partial: true, Unfinished: true, Job: state.Job{Operation: "apply", Change: 1}},
		{Time: at, Run: "r4", Steps: 3, Unfinished: true, Job: state.Job{Operation: "destroy", Destroy: 1}},
	}}
	var out bytes.Buffer
	if err := History(&out, Applies(st, 0, "r4"), ui.Options{}); err != nil {
		t.Fatal(err)
	}
	want := `TIME              WHO                OPERATION  PLAN              RESOURCES  STEPS   TOOK  OUTCOME          KUBEWRIGHT
2026-03-02 09:00  -                  destroy    -                 +0 ~0 -1   0 of 3  -     running          -
2026-03-02 09:00  -                  apply      -                 +0 ~1 -0   3 of 3  -     partial          -
2026-03-02 09:00  -                  -          -                 -          3       -     failed: 2 steps  -
2026-03-02 09:00  ada\x1b[2J@laptop  -          0123456789abcdef  -          3       -     completed        -
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
	out.Reset()
	if err := History(&out, Applies(st, 1, ""), ui.Options{Width: 60}); err != nil {
		t.Fatal(err)
	}
	if want := "TIME              WHO  OPERATION  PLAN  OUTCOME\n2026-03-02 09:00  -    destroy    -     interrupted\n"; out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
	out.Reset()
	if err := History(&out, Applies(nil, 0, ""), ui.Options{}); err != nil || !strings.HasPrefix(out.String(), "The state has no apply: ") {
		t.Errorf("got %q, %v", out.String(), err)
	}
}

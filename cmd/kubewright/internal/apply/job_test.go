package apply

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// TestOperation checks that an operation names what makes a plan another one than the configuration
// asks for, and that it stays short: the state keeps many of them.
func TestOperation(t *testing.T) {
	t.Parallel()
	p := &planner.Plan{Replace: []string{"cluster.prod/ca"}, Targets: []string{`node.cp["cp1"]/certs`}, Excluded: []string{"node.w"}, SkippedPhases: []string{"addon"}, RefreshOnly: true}
	want := `apply -refresh-only -replace=cluster.prod/ca -target='node.cp["cp1"]/certs' -exclude=node.w -skip-phase=addon`
	if got := operation("apply", p); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for range 100 {
		p.Targets = append(p.Targets, "node.größe")
	}
	got := operation("apply", p)
	if len(got) > state.MaxOperation || len(got) < state.MaxOperation-4 || !strings.HasSuffix(got, "…") || !utf8.ValidString(got) {
		t.Errorf("got %d bytes: %s", len(got), got)
	}
}

package ui

import (
	"strings"
	"testing"

	"github.com/kubewright/kubewright/state"
)

// TestTextDelimiterIsUnique checks that no line of a text looks like its delimiter, so that a text cannot
// pass off its own lines as other lines of the plan.
func TestTextDelimiterIsUnique(t *testing.T) {
	t.Parallel()
	for want, texts := range map[string][][]string{
		"EOT":   {{"a", "EOT b"}, {"xEOT"}},
		"EOT_1": {{"a"}, {"  EOT"}},
		"EOT_2": {{"EOT", "+ EOT_1"}},
	} {
		if got := Delimiter(texts...); got != want {
			t.Errorf("%q: %s, want %s", texts, got, want)
		}
	}
	text := state.String("a\n  EOT\n+ role = \"worker\"\n")
	if shown := HCL(text, ""); !strings.HasPrefix(shown, "<<-EOT_1\n") || !strings.HasSuffix(shown, "\nEOT_1") {
		t.Errorf("shown as\n%s", shown)
	}
}

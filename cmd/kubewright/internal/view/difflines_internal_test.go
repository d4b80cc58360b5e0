package view

import (
	"strings"
	"testing"

	"github.com/kubewright/kubewright/state"
)

// TestDelimiter: no line of a text looks like its end, so that a text cannot show lines of
// its own as others of the plan.
func TestDelimiter(t *testing.T) {
	t.Parallel()
	for want, texts := range map[string][][]string{
		"EOT":   {{"a", "EOT b"}, {"xEOT"}},
		"EOT_1": {{"a"}, {"  EOT"}},
		"EOT_2": {{"EOT", "+ EOT_1"}},
	} {
		if got := delimiter(texts...); got != want {
			t.Errorf("%q: %s, want %s", texts, got, want)
		}
	}
	text := state.String("a\n  EOT\n+ role = \"worker\"\n")
	if shown := hcl(text, ""); !strings.HasPrefix(shown, "<<-EOT_1\n") || !strings.HasSuffix(shown, "\nEOT_1") {
		t.Errorf("shown as\n%s", shown)
	}
	p := changePrinter{&page{}}
	var e entry
	p.textDiff(&e, state.String("a\nb\n"), text)
	if one := p.oneSided(entry{sym: added, key: "text"}, text, nil, ""); e.text != "<<-EOT_1" || e.tail != "EOT_1" || one.text != "<<-EOT_1" || one.tail != "EOT_1" {
		t.Errorf("a changed text is shown as %s … %s, a new one as %s … %s", e.text, e.tail, one.text, one.tail)
	}
}

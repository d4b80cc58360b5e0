package diffview

import (
	"testing"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/state"
)

// TestTextDelimiterIsUnique checks that no line of a text looks like its delimiter, neither in a changed nor
// in a new text.
func TestTextDelimiterIsUnique(t *testing.T) {
	t.Parallel()
	text := state.String("a\n  EOT\n+ role = \"worker\"\n")
	p := NewPrinter(ui.Options{})
	var e Entry
	p.textDiff(&e, state.String("a\nb\n"), text)
	if one := p.oneSided(Entry{Sym: ui.Added, Key: "text"}, text, nil, ""); e.Text != "<<-EOT_1" || e.tail != "EOT_1" || one.Text != "<<-EOT_1" || one.tail != "EOT_1" {
		t.Errorf("a changed text is shown as %s … %s, a new one as %s … %s", e.Text, e.tail, one.Text, one.tail)
	}
}

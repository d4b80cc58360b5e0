package planview

import (
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/outline"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
)

// warned prints the summaries of the warnings above the plan, which may have scrolled away by its
// end.
func (p printer) warned() {
	if list := outline.Warnings(p.plan); len(list) > 0 {
		p.Prose(p.Bold(p.Yellow(ui.Plural(len(list), "warning")+" above:")) + " " + outline.Summaries(list) + ".")
		p.Line()
	}
}

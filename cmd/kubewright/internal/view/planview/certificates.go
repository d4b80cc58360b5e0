package planview

import (
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
)

// certificates prints when certificates expire: the first of each cluster, and in a full plan
// all of them, as they are before the apply.
func (p printer) certificates(ends []string) {
	for _, sentence := range ends {
		p.Line(ui.Wrap("Certificates: "+sentence, p.Width, "  "))
	}
	if !p.Full || len(p.plan.Certificates) == 0 {
		return
	}
	rows := ui.Table{{"HOST", "CERTIFICATE", "EXPIRES", "LEFT", "THIS PLAN"}}
	for _, c := range p.plan.Certificates {
		does := ""
		if c.Changed {
			does = "replaces or removes it"
		}
		rows = append(rows, []string{ui.Clean(c.Host), ui.Clean(c.Path), c.NotAfter.UTC().Format(time.DateOnly), ui.RelativeDays(c.DaysLeft), does})
	}
	p.Line("Certificates on the hosts now:")
	p.Table(rows, "  ")
}

package outline

import (
	"slices"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner"
)

// ExpiryNotes returns one sentence per cluster on the first certificate to expire among those
// that a plan leaves as they are. In a plan with changes it returns only certificates that are
// due.
func ExpiryNotes(plan *planner.Plan) []string {
	several := slices.ContainsFunc(plan.Certificates, func(c planner.CertificateEnd) bool { return c.Cluster != plan.Certificates[0].Cluster })
	var out []string
	for _, c := range plan.FirstEnds() {
		if !plan.Empty() && !c.Due {
			continue
		}
		verb := "is"
		if c.DaysLeft < 0 {
			verb = "was"
		}
		text := "the first to expire " + verb + " " + ui.Clean(c.Path) + " on " + ui.Clean(c.Host) + ", " + c.NotAfter.UTC().Format(time.DateOnly) + ", " + ui.RelativeDays(c.DaysLeft) + "." + renewalNote(c)
		if several {
			text = ui.Clean(c.Cluster.String()) + ": " + text
		}
		out = append(out, text)
	}
	return out
}

// renewalNote returns who has to renew a certificate that is due and that the plan leaves as it
// is.
func renewalNote(c planner.CertificateEnd) string {
	switch {
	case !c.Due:
	case c.RenewedBy == planner.ByApply:
		return " It is due, and this plan does not renew it."
	case c.RenewedBy == planner.ByKubelet:
		return " The kubelet ought to have renewed it."
	case c.RenewedBy == planner.ByOperator:
		return " It is due, and you renew it."
	case c.RenewedBy == planner.ByRotation:
		return " It is due, and renewed by -replace."
	}
	return ""
}

package view

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// renews reports whether nothing of an item changes but that it begins again.
func (it item) renews() bool {
	return it.Action == planner.Update && len(it.Attributes) == 1 && it.Attributes[0].Path == planner.RenewalDue
}

// align puts the texts of renewed items, one line each, below one another.
func align(kids []entry) {
	width := 0
	for _, e := range kids {
		if !e.block && e.text != "" {
			width = max(width, ansi.StringWidth(e.head))
		}
	}
	for i, e := range kids {
		if !e.block && strings.HasPrefix(e.text, gap) {
			kids[i].head = fill(e.head, width)
		}
	}
}

// gap is between the name of what is renewed and when it ends.
const gap = "   "

// ending tells when what is renewed ends: "ends 2027-03-02, in 25 days".
func ending(shown map[string]state.Value) string {
	day, _, _ := strings.Cut(Clean(shown["not_after"].AsString()), "T")
	left, err := strconv.Atoi(shown["days_left"].AsString())
	switch {
	case day == "":
		return ""
	case err != nil:
		return "ends " + day
	case left < 0:
		return "ended " + day + ", " + daysFrom(left)
	}
	return "ends " + day + ", " + daysFrom(left)
}

// daysFrom is in 25 days, or 3 days ago.
func daysFrom(left int) string {
	if left < 0 {
		return plural(-left-1, "day") + " ago"
	}
	return "in " + plural(left, "day")
}

// certificateEnds are sentences, one per cluster, about the certificate that ends
// first of those that a plan leaves as they are. A plan that has something else to
// tell is silent of what is not due.
func certificateEnds(plan *planner.Plan) []string {
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
		text := "the first to end " + verb + " " + Clean(c.Path) + " on " + Clean(c.Host) + ", " + c.NotAfter.UTC().Format(time.DateOnly) + ", " + daysFrom(c.DaysLeft) + "." + whoRenews(c)
		if several {
			text = Clean(c.Cluster.String()) + ": " + text
		}
		out = append(out, text)
	}
	return out
}

// whoRenews says who has to do something about a certificate that is due and that
// the plan leaves as it is.
func whoRenews(c planner.CertificateEnd) string {
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

// certificates prints when certificates end: the first of each cluster, and with
// -full all of them, as they are before the plan is carried out.
func (p planPrinter) certificates(ends []string) {
	for _, sentence := range ends {
		p.line(wrap("Certificates: "+sentence, p.width, "  "))
	}
	if !p.full || len(p.plan.Certificates) == 0 {
		return
	}
	rows := table{{"HOST", "CERTIFICATE", "EXPIRES", "LEFT", "THIS PLAN"}}
	for _, c := range p.plan.Certificates {
		does := ""
		if c.Changed {
			does = "replaces or removes it"
		}
		rows = append(rows, []string{Clean(c.Host), Clean(c.Path), c.NotAfter.UTC().Format(time.DateOnly), daysFrom(c.DaysLeft), does})
	}
	p.line("Certificates on the hosts now:")
	p.table(rows, "  ")
}

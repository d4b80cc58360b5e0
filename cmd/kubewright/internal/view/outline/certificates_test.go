package outline_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/outline"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/planview"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// TestExpiryNoteOnFirstCertificate checks the note on the certificate that expires first, and on who has to act.
func TestExpiryNoteOnFirstCertificate(t *testing.T) {
	t.Parallel()
	end := func(cluster string, days int, due bool, by planner.Renewer) planner.CertificateEnd {
		return planner.CertificateEnd{
			Cluster: state.ClusterTarget(cluster), Host: "cp1", Path: "/x.crt", NotAfter: time.Date(2027, 3, 2, 9, 0, 0, 0, time.UTC), DaysLeft: days, Due: due, RenewedBy: by,
		}
	}
	const first = "the first to expire is /x.crt on cp1, 2027-03-02, "
	for want, list := range map[string][]planner.CertificateEnd{
		first + "in 364 days.": {end("a", 364, false, planner.ByApply)},
		first + "in 1 day. It is due, and this plan does not renew it.":                            {end("a", 1, true, planner.ByApply)},
		first + "in 9 days. It is due, and you renew it.":                                          {end("a", 9, true, planner.ByOperator)},
		first + "in 200 days. It is due, and renewed by -replace.":                                 {end("a", 200, true, planner.ByRotation)},
		"the first to expire was /x.crt on cp1, 2027-03-02, 3 days ago. The kubelet ought to have": {end("a", -4, true, planner.ByKubelet)},
		"cluster.a: " + first + "in 20 days.|cluster.b: " + first + "in 30 days.":                  {end("a", 20, false, planner.ByApply), end("b", 30, false, planner.ByApply)},
		"": {end("a", 20, false, planner.ByKubelet)},
	} {
		plan := &planner.Plan{Certificates: list}
		if got := strings.Join(outline.ExpiryNotes(plan), "|"); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		var b bytes.Buffer
		if err := planview.Print(&b, plan, ui.Options{Width: 200}); err != nil || strings.Count(b.String(), "\nCertificates: ") != strings.Count(want+"|", "|") && want != "" {
			t.Errorf("%v:\n%s", err, b.String())
		}
		if !strings.HasPrefix(b.String(), "No changes.") {
			t.Errorf("an expiring certificate counts as a change:\n%s", b.String())
		}
		plan.Steps = []planner.Step{{Phase: "addon"}}
		due := strings.Contains(want, "due") || strings.Contains(want, "ought to")
		if got := len(outline.ExpiryNotes(plan)) > 0; got != due {
			t.Errorf("a plan with changes has a note on certificates: %t, %v", got, list)
		}
	}
}

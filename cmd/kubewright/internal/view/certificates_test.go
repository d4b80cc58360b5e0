package view

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/state"
)

// TestCertificatesFit: a table is as wide as the terminal at most, a pipe gets
// all of it, and when something ends is always there.
func TestCertificatesFit(t *testing.T) {
	t.Parallel()
	at := time.Date(2027, 3, 2, 9, 0, 0, 0, time.UTC)
	list := []pki.HeldCertificate{
		{Host: "cp1", Name: "apiserver-kubelet-client", CommonName: "kube-apiserver-kubelet-client", Issuer: "kubernetes", NotAfter: at, DaysLeft: 29, Due: true, RenewedBy: planner.ByApply},
		{Host: "cp1", Name: "controller-manager.conf", CommonName: "system:kube-controller-manager", Issuer: "kubernetes", NotAfter: at, DaysLeft: -1, Ended: true, Due: true, RenewedBy: planner.ByApply},
		{Address: "10.0.0.1", Name: "kubelet.crt\x1b[2J", Invalid: "no PEM", RenewedBy: planner.ByNobody},
	}
	for width, want := range map[int][]string{
		0:   {"SUBJECT", "CA", "RENEWAL", "system:kube-controller-manager", "ended", "due", "10.0.0.1", "no PEM"},
		200: {"SUBJECT", "CA", "RENEWAL"},
		100: {"CA", "EXPIRES", "RENEWAL"},
		70:  {"EXPIRES", "LEFT", "2027-03-02 09:00", "29 days"},
		40:  {"EXPIRES", "LEFT", "2027-03-02 09:00", "29 days"},
	} {
		var b bytes.Buffer
		if err := Certificates(&b, list, Options{Width: width, Color: width == 100}); err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(b.String(), w) {
				t.Errorf("width %d: no %q in\n%s", width, w, b.String())
			}
		}
		for line := range strings.Lines(b.String()) {
			if w := ansi.StringWidth(strings.TrimSuffix(line, "\n")); width >= 70 && w > width {
				t.Errorf("width %d: a line is %d wide: %q", width, w, line)
			}
		}
		if strings.Contains(b.String(), "\x1b[2J") || width != 100 && strings.Contains(b.String(), "\x1b") {
			t.Errorf("width %d: escape sequences in %q", width, b.String())
		}
	}
}

// TestCertificateEnds: what a plan says of the certificate that ends first, and of
// who has to do something about it.
func TestCertificateEnds(t *testing.T) {
	t.Parallel()
	end := func(cluster string, days int, due bool, by planner.Renewer) planner.CertificateEnd {
		return planner.CertificateEnd{
			Cluster: state.ClusterTarget(cluster), Host: "cp1", Path: "/x.crt", NotAfter: time.Date(2027, 3, 2, 9, 0, 0, 0, time.UTC), DaysLeft: days, Due: due, RenewedBy: by,
		}
	}
	const first = "the first to end is /x.crt on cp1, 2027-03-02, "
	for want, list := range map[string][]planner.CertificateEnd{
		first + "in 364 days.": {end("a", 364, false, planner.ByApply)},
		first + "in 1 day. It is due, and this plan does not renew it.":                         {end("a", 1, true, planner.ByApply)},
		first + "in 9 days. It is due, and you renew it.":                                       {end("a", 9, true, planner.ByOperator)},
		first + "in 200 days. It is due, and renewed by -replace.":                              {end("a", 200, true, planner.ByRotation)},
		"the first to end was /x.crt on cp1, 2027-03-02, 3 days ago. The kubelet ought to have": {end("a", -4, true, planner.ByKubelet)},
		"cluster.a: " + first + "in 20 days.|cluster.b: " + first + "in 30 days.":               {end("a", 20, false, planner.ByApply), end("b", 30, false, planner.ByApply)},
		"": {end("a", 20, false, planner.ByKubelet)},
	} {
		plan := &planner.Plan{Certificates: list}
		if got := strings.Join(certificateEnds(plan), "|"); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		var b bytes.Buffer
		if err := Plan(&b, plan, Options{Width: 200}); err != nil || strings.Count(b.String(), "\nCertificates: ") != strings.Count(want+"|", "|") && want != "" {
			t.Errorf("%v:\n%s", err, b.String())
		}
		if !strings.HasPrefix(b.String(), "No changes.") {
			t.Errorf("what ends is no change:\n%s", b.String())
		}
		plan.Steps = []planner.Step{{Phase: "addon"}}
		due := strings.Contains(want, "due") || strings.Contains(want, "ought to")
		if got := len(certificateEnds(plan)) > 0; got != due {
			t.Errorf("a plan with something to do speaks of ends: %t, %v", got, list)
		}
	}
}

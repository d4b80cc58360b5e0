package listing_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/listing"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/pki"
)

// TestCertificateTableFitsTerminal checks that a table is never wider than the terminal, that without a
// terminal all columns are printed, and that the end of a certificate is always shown.
func TestCertificateTableFitsTerminal(t *testing.T) {
	t.Parallel()
	at := time.Date(2027, 3, 2, 9, 0, 0, 0, time.UTC)
	list := []pki.HeldCertificate{
		{Host: "cp1", Name: "apiserver-kubelet-client", CommonName: "kube-apiserver-kubelet-client", Issuer: "kubernetes", NotAfter: at, DaysLeft: 29, Due: true, RenewedBy: planner.ByApply},
		{Host: "cp1", Name: "controller-manager.conf", CommonName: "system:kube-controller-manager", Issuer: "kubernetes", NotAfter: at, DaysLeft: -1, Ended: true, Due: true, RenewedBy: planner.ByApply},
		{Address: "10.0.0.1", Name: "kubelet.crt\x1b[2J", Invalid: "no PEM", RenewedBy: planner.NotRenewed},
	}
	for width, want := range map[int][]string{
		0:   {"SUBJECT", "CA", "RENEWAL", "system:kube-controller-manager", "expired", "due", "10.0.0.1", "no PEM"},
		200: {"SUBJECT", "CA", "RENEWAL"},
		100: {"CA", "EXPIRES", "RENEWAL"},
		70:  {"EXPIRES", "LEFT", "2027-03-02 09:00", "29 days"},
		40:  {"EXPIRES", "LEFT", "2027-03-02 09:00", "29 days"},
	} {
		var b bytes.Buffer
		if err := listing.Certificates(&b, list, 0, ui.Options{Width: width, Color: width == 100}); err != nil {
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

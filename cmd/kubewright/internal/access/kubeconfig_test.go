package access

import (
	"testing"
	"time"

	"github.com/kubewright/kubewright/state"
)

// TestClientCertificateDoesNotOutliveCA checks that a certificate expires no later than its CA.
func TestClientCertificateDoesNotOutliveCA(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	for left, want := range map[time.Duration]string{
		8 * time.Hour: "",
		3*time.Hour + 20*time.Second: `error: Certificate outlives its CA: The CA "kubernetes" (/pki/ca.crt) is valid until 2026-03-02 12:00 UTC, which is sooner than -validity=8h0m0s from now, ` +
			`and a certificate is worth nothing after its CA. Give -validity=3h0m0s at most, or replace the CA first.`,
		-time.Hour: `error: Certificate outlives its CA: The CA "kubernetes" (/pki/ca.crt) is valid until 2026-03-02 08:00 UTC, and it is 2026-03-02 09:00 UTC: ` +
			`what it signs is worth nothing. Replace the CA first; kubewright plan says how.`,
	} {
		got := ""
		if d := outlives(state.CertificateInfo{CommonName: "kubernetes", NotAfter: now.Add(left)}, "/pki/ca.crt", 8*time.Hour, now); d != nil {
			got = d.String()
		}
		if got != want {
			t.Errorf("%s left: %s\nwant %s", left, got, want)
		}
	}
}

package pki_test

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/pki"
	"github.com/kubewright/kubewright/state"
)

// TestKubeconfigForTheOperator: the certificate is the user's, signed by the
// host's CA, with a key that no host has seen.
func TestKubeconfigForTheOperator(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	i, host := pki.New(pki.Options{Now: now}), newMemory()
	const base = "/etc/kubernetes/pki/ca"
	if _, err := i.IssueCA(t.Context(), host, planner.IssueCA{CommonName: "kubernetes", Algorithm: "ECDSA-P256", Validity: 24 * time.Hour, To: base}, providers.Batch{}); err != nil {
		t.Fatal(err)
	}
	written := len(host.written)
	s, err := i.Kubeconfig(t.Context(), host, planner.WriteKubeconfig{
		Path: "/etc/kubernetes/admin.conf", CA: planner.Signer{Name: "kubernetes", Base: base}, Cluster: "prod", Server: "https://api:6443",
		User: "jane", CommonName: "jane", Organizations: []string{"developers"}, Algorithm: "ECDSA-P256", Validity: 8 * time.Hour,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(host.written) != written {
		t.Errorf("wrote %v on the host", host.written[written:])
	}
	s, err = pki.Name(s, pki.Naming{Cluster: "prod", User: "jane@prod", Context: "work", Server: "https://other:6443"})
	if err != nil {
		t.Fatal(err)
	}
	info, err := pki.ParseKubeconfig(s.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	if info.User != "jane@prod" || info.Context != "work" || info.Server != "https://other:6443" || info.Client.CommonName != "jane" || !info.Client.NotAfter.Equal(now.Add(8*time.Hour)) {
		t.Errorf("got %+v with %+v", info, info.Client)
	}
	verify(t, s, host.files[base+".crt"], now)
}

// verify checks the client certificate of a kubeconfig against a CA.
func verify(t *testing.T, kubeconfig state.Secret, ca []byte, now time.Time) {
	t.Helper()
	var k struct {
		Users []struct {
			User struct {
				Certificate string `json:"client-certificate-data"`
			}
		}
	}
	if err := yaml.Unmarshal(kubeconfig.Reveal(), &k); err != nil {
		t.Fatal(err)
	}
	raw, err := base64.StdEncoding.DecodeString(k.Users[0].User.Certificate)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(raw)
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	if _, err := c.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		t.Error(err)
	}
	if len(c.Subject.Organization) != 1 || c.Subject.Organization[0] != "developers" {
		t.Errorf("groups are %v", c.Subject.Organization)
	}
}

func TestMergeRefuses(t *testing.T) {
	t.Parallel()
	add := []byte("apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters: [{name: a, cluster: {server: s}}]\n")
	for _, into := range []string{"kind: Pod", "clusters: three", "- a\n- list", "{"} {
		if _, err := pki.Merge([]byte(into), add); err == nil || strings.Contains(err.Error(), "three") {
			t.Errorf("%q: got %v", into, err)
		}
	}
	s, err := pki.Merge(nil, add)
	if names, users, listErr := pki.Named(s.Reveal()); err != nil || listErr != nil || len(names) != 1 || len(users) != 0 {
		t.Errorf("into nothing: %v, %v, %v, %v", names, users, err, listErr)
	}
}

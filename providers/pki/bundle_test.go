package pki_test

import (
	"crypto/x509"
	"slices"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/pki"
)

// TestCABundleReplacesCAGradually replaces a CA gradually: a bundle of both CAs, kubeconfigs that trust both,
// one of them with a certificate of the new CA, and finally the new CA in the old one's
// place. Each operation is performed once.
func TestCABundleReplacesCAGradually(t *testing.T) {
	t.Parallel()
	const algorithm = "ECDSA-P256"
	host := newMemory()
	i := pki.New(pki.Options{Now: start})
	issue(t, i, host, requests(clusterCA(algorithm), admin(algorithm)))
	next := clusterCA(algorithm)
	next.To = dir + "/ca-next"
	trust := requests(next,
		planner.BundleTrust{To: dir + "/ca-old.crt", Of: []string{dir + "/ca.crt"}},
		planner.BundleTrust{To: dir + "/ca.crt", Of: []string{dir + "/ca-old.crt", dir + "/ca-next.crt"}},
		planner.SetKubeconfig{Path: "/etc/kubernetes/admin.conf", Trust: dir + "/ca.crt"})
	for round, want := range []bool{true, false} {
		for n, o := range issue(t, i, host, trust) {
			if o.Changed != want {
				t.Errorf("round %d: operation %d changed something: %v", round, n, o.Changed)
			}
		}
	}
	old, made := digests(t, host, dir+"/ca-old.crt"), digests(t, host, dir+"/ca-next.crt")
	both := []string{old[0], made[0]}
	if old[0] == made[0] || !slices.Equal(digests(t, host, dir+"/ca.crt"), both) {
		t.Errorf("the bundle is %v, of %v and %v", digests(t, host, dir+"/ca.crt"), old, made)
	}
	conf := admin(algorithm)
	conf.CA.Base, conf.Trust, conf.Renew = dir+"/ca-next", dir+"/ca.crt", true
	wantTrust(t, host, both, old[0])
	issue(t, i, host, requests(conf))
	wantTrust(t, host, both, made[0])

	issue(t, i, host, []providers.KeyRequest{
		{Operation: planner.CopySecrets{Files: []planner.SecretFile{{Path: dir + "/ca.key", Mode: "0600", Owner: "root:root", Source: dir + "/ca-next.key"}}}, Source: host},
		{Operation: planner.BundleTrust{To: dir + "/ca.crt", Of: []string{dir + "/ca-next.crt"}}},
		{Operation: apiserver(algorithm)},
	})
	roots := x509.NewCertPool()
	roots.AddCert(certificate(t, host, dir+"/ca-next.crt"))
	if _, err := certificate(t, host, dir+"/apiserver.crt").Verify(x509.VerifyOptions{Roots: roots, CurrentTime: start}); err != nil {
		t.Errorf("a certificate issued after that is not signed by the new CA: %v", err)
	}
	if got := digests(t, host, dir+"/ca.crt"); !slices.Equal(got, made) {
		t.Errorf("the old CA is still in its place: %v", got)
	}
}

// wantTrust checks that the administrator's kubeconfig trusts the CAs, and that one of them
// has signed its certificate.
func wantTrust(t *testing.T, host *memory, cas []string, signer string) {
	t.Helper()
	k, err := pki.ParseKubeconfig(host.files["/etc/kubernetes/admin.conf"])
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(k.CAKeyDigests(), cas) || k.Client.IssuerKeyDigest != signer {
		t.Errorf("the kubeconfig trusts %v and is signed by %s, want %v and %s", k.CAKeyDigests(), k.Client.IssuerKeyDigest, cas, signer)
	}
}

func digests(t *testing.T, host *memory, path string) []string {
	t.Helper()
	certs, err := pki.ParseCertificates(host.files[path])
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	var out []string
	for _, c := range certs {
		out = append(out, c.KeyDigest)
	}
	return out
}

// TestCABundleRefusesInvalidFiles checks that a bundle with a missing file, or with a certificate that is
// no CA's, is refused.
func TestCABundleRefusesInvalidFiles(t *testing.T) {
	t.Parallel()
	host := newMemory()
	i := pki.New(pki.Options{Now: start})
	issue(t, i, host, requests(clusterCA("ECDSA-P256"), apiserver("ECDSA-P256")))
	for _, of := range []string{dir + "/apiserver.crt", dir + "/absent.crt"} {
		if _, err := i.BundleTrust(t.Context(), host, planner.BundleTrust{To: dir + "/ca.crt", Of: []string{of}}, providers.Batch{Token: 1}); err == nil {
			t.Errorf("%s was put into the bundle", of)
		}
	}
}

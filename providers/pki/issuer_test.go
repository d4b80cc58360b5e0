package pki_test

import (
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/pki"
	"github.com/kubewright/kubewright/state"
)

var start = time.Date(2026, 3, 4, 5, 6, 7, 890, time.UTC)

const (
	day = 24 * time.Hour
	dir = "/etc/kubernetes/pki"
)

func clusterCA(algorithm string) planner.IssueCA {
	return planner.IssueCA{CommonName: "kubernetes", Algorithm: algorithm, Validity: 3650 * day, To: dir + "/ca"}
}

func apiserver(algorithm string) planner.IssueCertificate {
	return planner.IssueCertificate{
		CA: planner.Signer{Name: "kubernetes", Base: dir + "/ca"}, CommonName: "kube-apiserver",
		DNSNames:    []string{"kubernetes.default", "cp1", "kubernetes", "cp1"},
		IPAddresses: []string{"10.96.0.1", "10.77.0.11", "10.96.0.1"},
		Usages:      []string{"server auth"}, Algorithm: algorithm, Validity: 365 * day, To: dir + "/apiserver",
	}
}

func admin(algorithm string) planner.WriteKubeconfig {
	return planner.WriteKubeconfig{
		Path: "/etc/kubernetes/admin.conf", CA: planner.Signer{Name: "kubernetes", Base: dir + "/ca"},
		Cluster: "kubernetes", Server: "https://10.77.0.11:6443", User: "kubernetes-admin", CommonName: "kubernetes-admin",
		Organizations: []string{"kubeadm:cluster-admins"}, Algorithm: algorithm, Validity: 365 * day,
	}
}

func requests(ops ...planner.Operation) []providers.KeyRequest {
	var out []providers.KeyRequest
	for _, op := range ops {
		out = append(out, providers.KeyRequest{Operation: op})
	}
	return out
}

func issue(t *testing.T, i *pki.Issuer, on *memory, rs []providers.KeyRequest) []providers.Outcome {
	t.Helper()
	out, err := i.IssueAll(t.Context(), on, rs, providers.Batch{Token: 1})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func certificate(t *testing.T, m *memory, path string) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(m.files[path])
	if block == nil || block.Type != "CERTIFICATE" {
		t.Fatalf("%s holds no certificate", path)
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestIssueControlPlaneFilesInOneGroup makes all files of a first control plane in one group: one read, one write,
// everything verifies.
func TestIssueControlPlaneFilesInOneGroup(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []string{"RSA-2048", "RSA-3072", "RSA-4096", "ECDSA-P256", "ECDSA-P384"} {
		t.Run(algorithm, func(t *testing.T) {
			t.Parallel()
			host := newMemory()
			i := pki.New(pki.Options{Now: start})
			out := issue(t, i, host, requests(clusterCA(algorithm),
				planner.IssueKeyPair{Algorithm: algorithm, To: dir + "/sa"}, apiserver(algorithm), admin(algorithm)))
			for n, o := range out {
				if !o.Changed {
					t.Errorf("operation %d changed nothing", n)
				}
			}
			if host.reads != 1 || host.performs != 1 {
				t.Errorf("got %d reads and %d writes, want 1 and 1", host.reads, host.performs)
			}
			checkCA(t, certificate(t, host, dir+"/ca.crt"))
			checkLeaf(t, host)
			checkKeys(t, host, algorithm)
			checkAdmin(t, host, algorithm)
		})
	}
}

func checkCA(t *testing.T, ca *x509.Certificate) {
	t.Helper()
	usage := x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment | x509.KeyUsageCertSign
	if !ca.IsCA || ca.KeyUsage != usage || len(ca.ExtKeyUsage) != 0 || ca.MaxPathLen != -1 || ca.MaxPathLenZero {
		t.Errorf("CA: got IsCA %v, usage %b, %v, path length %d", ca.IsCA, ca.KeyUsage, ca.ExtKeyUsage, ca.MaxPathLen)
	}
	if ca.Subject.String() != "CN=kubernetes" || !slices.Equal(ca.DNSNames, []string{"kubernetes"}) || len(ca.SubjectKeyId) == 0 {
		t.Errorf("CA: got subject %s, names %v", ca.Subject, ca.DNSNames)
	}
	now := start.Truncate(time.Second)
	if !ca.NotBefore.Equal(now.Add(-5*time.Minute)) || !ca.NotAfter.Equal(now.Add(3650*day)) {
		t.Errorf("CA: got %s to %s", ca.NotBefore, ca.NotAfter)
	}
}

func checkLeaf(t *testing.T, host *memory) {
	t.Helper()
	leaf, ca := certificate(t, host, dir+"/apiserver.crt"), certificate(t, host, dir+"/ca.crt")
	roots := x509.NewCertPool()
	roots.AddCert(ca)
	_, err := leaf.Verify(x509.VerifyOptions{
		Roots: roots, DNSName: "kubernetes.default", CurrentTime: start, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	if err != nil {
		t.Error(err)
	}
	if got, want := fmt.Sprint(leaf.DNSNames, leaf.IPAddresses), "[cp1 kubernetes kubernetes.default] [10.96.0.1 10.77.0.11]"; got != want {
		t.Errorf("got names %s, want %s", got, want)
	}
	if leaf.KeyUsage != x509.KeyUsageDigitalSignature|x509.KeyUsageKeyEncipherment || !leaf.BasicConstraintsValid || leaf.IsCA {
		t.Errorf("got usage %b, basic constraints %v", leaf.KeyUsage, leaf.BasicConstraintsValid)
	}
	if leaf.SerialNumber.Sign() <= 0 || leaf.SerialNumber.BitLen() > 63 {
		t.Errorf("got serial %s", leaf.SerialNumber)
	}
	if _, err := tls.X509KeyPair(host.files[dir+"/apiserver.crt"], host.files[dir+"/apiserver.key"]); err != nil {
		t.Error(err)
	}
}

func checkKeys(t *testing.T, host *memory, algorithm string) {
	t.Helper()
	want := "RSA PRIVATE KEY"
	if strings.HasPrefix(algorithm, "ECDSA") {
		want = "EC PRIVATE KEY"
	}
	for _, path := range []string{dir + "/ca.key", dir + "/sa.key", dir + "/apiserver.key"} {
		if block, _ := pem.Decode(host.files[path]); block == nil || block.Type != want {
			t.Errorf("%s is no %s", path, want)
		}
	}
	block, _ := pem.Decode(host.files[dir+"/sa.pub"])
	if block == nil || block.Type != "PUBLIC KEY" {
		t.Fatal("sa.pub is no public key")
	}
	public, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	switch k := public.(type) {
	case *rsa.PublicKey:
		algorithm = strings.TrimPrefix(algorithm, fmt.Sprintf("RSA-%d", k.N.BitLen()))
	case *ecdsa.PublicKey:
		algorithm = strings.TrimPrefix(algorithm, "ECDSA-P"+fmt.Sprint(k.Params().BitSize))
	}
	if algorithm != "" {
		t.Errorf("sa.pub is a %T, not %s", public, algorithm)
	}
	for _, w := range host.written {
		mode := "0600"
		if strings.HasSuffix(w.Path, ".crt") {
			mode = "0644"
		}
		if w.Mode != mode || w.Owner != "root:root" || w.Content.Inline != "" {
			t.Errorf("%s: got mode %s, owner %s, inline %q", w.Path, w.Mode, w.Owner, w.Content.Inline)
		}
	}
}

func checkAdmin(t *testing.T, host *memory, algorithm string) {
	t.Helper()
	info, err := pki.ParseKubeconfig(host.files["/etc/kubernetes/admin.conf"])
	if err != nil {
		t.Fatal(err)
	}
	cas, err := pki.ParseCertificates(host.files[dir+"/ca.crt"])
	if err != nil {
		t.Fatal(err)
	}
	c := info.Client
	if c == nil || c.CommonName != "kubernetes-admin" || c.Algorithm != algorithm || c.IssuerKeyDigest != cas[0].KeyDigest || !c.NotBefore.Equal(cas[0].NotBefore) {
		t.Errorf("got client %+v", c)
	}
	if info.Server != "https://10.77.0.11:6443" || info.Context != "kubernetes-admin@kubernetes" || !slices.Equal(info.CAKeyDigests(), []string{cas[0].KeyDigest}) {
		t.Errorf("got %+v", info)
	}
}

// TestIssueKeepsExistingFiles checks that existing files are kept, and that Renew replaces its own and nothing
// else.
func TestIssueKeepsExistingFiles(t *testing.T) {
	t.Parallel()
	host := newMemory()
	i := pki.New(pki.Options{Now: start})
	all := requests(clusterCA("ECDSA-P256"), planner.IssueKeyPair{Algorithm: "ECDSA-P256", To: dir + "/sa"}, apiserver("ECDSA-P256"), admin("ECDSA-P256"))
	issue(t, i, host, all)
	before := host.files[dir+"/apiserver.crt"]
	for n, o := range issue(t, pki.New(pki.Options{Now: start}), host, all) {
		if o.Changed {
			t.Errorf("operation %d changed something the second time", n)
		}
	}
	renew := apiserver("ECDSA-P256")
	renew.Renew = true
	later := pki.New(pki.Options{Now: start.Add(day)})
	if out := issue(t, later, host, requests(clusterCA("ECDSA-P256"), renew)); out[0].Changed || !out[1].Changed {
		t.Errorf("got %+v", out)
	}
	if string(before) == string(host.files[dir+"/apiserver.crt"]) {
		t.Error("the certificate was not renewed")
	}
	both := append(all, requests(renew)...)
	for n, o := range issue(t, later, host, both) {
		op := both[n].Operation
		if o.Changed != strings.HasPrefix(op.DoneWhen(), planner.DoneNever) {
			t.Errorf("operation %d changed something: %v; it is done when %s", n, o.Changed, op.DoneWhen())
		}
	}
}

// TestIssueWithCAOfOtherHost checks that another control plane gets the CA's signature with one
// read of the CA's host, and the next one without any.
func TestIssueWithCAOfOtherHost(t *testing.T) {
	t.Parallel()
	seat := newMemory()
	i := pki.New(pki.Options{Now: start})
	issue(t, i, seat, requests(clusterCA("ECDSA-P256")))
	seat.reads = 0
	for n := range 2 {
		host := newMemory()
		files := []planner.SecretFile{{Path: dir + "/ca.crt", Mode: "0644", Owner: "root:root"}}
		rs := []providers.KeyRequest{
			{Operation: planner.CopySecrets{From: state.NodeTarget("a"), Files: files}, Source: seat},
			{Operation: apiserver("ECDSA-P256"), Source: seat},
			{Operation: admin("ECDSA-P256"), Source: seat},
		}
		issue(t, i, host, rs)
		if host.performs != 1 || seat.reads != n+1 {
			t.Errorf("got %d writes, %d reads of the seat", host.performs, seat.reads)
		}
		checkLeaf(t, host)
		if host.files[dir+"/ca.key"] != nil {
			t.Error("the CA's key was copied")
		}
	}
	if seat.performs != 1 {
		t.Errorf("the seat was written %d times", seat.performs)
	}
}

func TestWriteTokenKubeconfig(t *testing.T) {
	t.Parallel()
	seat, worker := newMemory(), newMemory()
	i := pki.New(pki.Options{Now: start})
	issue(t, i, seat, requests(clusterCA("ECDSA-P256")))
	op := planner.WriteKubeconfig{
		Path: "/etc/kubernetes/bootstrap-kubelet.conf", CA: planner.Signer{Name: "kubernetes", Base: dir + "/ca"},
		Cluster: "kubernetes", Server: "https://api:6443", User: "tls-bootstrap-token-user", Token: &state.Pending{Step: "x", Output: "token"},
	}
	worker.files[op.Path] = []byte("stale")
	out, err := i.WriteKubeconfig(t.Context(), worker, seat, op, state.NewSecret([]byte("abcdef.0123456789abcdef")), providers.Batch{})
	if err != nil || !out.Changed {
		t.Fatal(out, err)
	}
	info, err := pki.ParseKubeconfig(worker.files[op.Path])
	if err != nil || !info.Token || info.Client != nil || info.User != "tls-bootstrap-token-user" || len(info.CAs) != 1 {
		t.Errorf("got %+v, %v", info, err)
	}
	if !strings.Contains(string(worker.files[op.Path]), "token: abcdef.0123456789abcdef") {
		t.Error("the token is missing")
	}
}

func TestSetKubeconfig(t *testing.T) {
	t.Parallel()
	host := newMemory()
	i := pki.New(pki.Options{Now: start})
	issue(t, i, host, requests(clusterCA("ECDSA-P256"), admin("ECDSA-P256")))
	const current = "/var/lib/kubelet/pki/kubelet-client-current.pem"
	op := planner.SetKubeconfig{Path: "/etc/kubernetes/admin.conf", Server: "https://new:6443", ClientCertificate: current}
	for n, want := range []bool{true, false} {
		out, err := i.SetKubeconfig(t.Context(), host, op, providers.Batch{})
		if err != nil || out.Changed != want {
			t.Fatalf("run %d: got %v, %v", n, out, err)
		}
	}
	info, err := pki.ParseKubeconfig(host.files[op.Path])
	if err != nil || info.Server != "https://new:6443" || info.ClientCertificate != current || info.ClientKey != current || info.Client != nil {
		t.Errorf("got %+v, %v", info, err)
	}
	if strings.Contains(string(host.files[op.Path]), "key-data") {
		t.Error("the key is still inlined")
	}
}

// TestOperatorCAKeyReachesNoHost checks that the key of an operator's CA signs and goes to no host.
func TestOperatorCAKeyReachesNoHost(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []string{"RSA-2048", "ECDSA-P384"} {
		source, host := newMemory(), newMemory()
		issue(t, pki.New(pki.Options{Now: start}), source, requests(clusterCA(algorithm)))
		const ref = "config:cluster.prod#certificates.ca"
		given := map[string]state.Secret{
			ref + ".certificate": state.NewSecret(source.files[dir+"/ca.crt"]), ref + ".key": state.NewSecret(source.files[dir+"/ca.key"]),
		}
		leaf, conf := apiserver("ECDSA-P256"), admin("ECDSA-P256")
		leaf.CA.Operator, conf.CA.Operator = ref, ref
		bring := planner.ImportSecrets{Files: []planner.SecretFile{{Path: dir + "/ca.crt", Mode: "0644", Owner: "root:root", Source: ref + ".certificate"}}}
		_, err := pki.New(pki.Options{Now: start}).IssueAll(t.Context(), host, requests(bring, leaf, conf), providers.Batch{Contents: given})
		if err != nil {
			t.Fatal(err)
		}
		checkLeaf(t, host)
		checkAdmin(t, host, "ECDSA-P256")
		if host.reads != 1 || host.files[dir+"/ca.key"] != nil {
			t.Errorf("got %d reads; the CA's key must stay", host.reads)
		}
		for ref := range given {
			if !host.contents[ref].IsZero() {
				t.Errorf("%s was sent along", ref)
			}
		}
	}
}

// TestKeyOfUnwrittenCertificateIsReplaced checks that a key whose certificate was never written is replaced, and
// that the begun operations are reported.
func TestKeyOfUnwrittenCertificateIsReplaced(t *testing.T) {
	t.Parallel()
	host := newMemory()
	host.failAfter = 3
	i := pki.New(pki.Options{Now: start})
	rs := requests(clusterCA("ECDSA-P256"), apiserver("ECDSA-P256"), admin("ECDSA-P256"))
	out, err := i.IssueAll(t.Context(), host, rs, providers.Batch{})
	if !errors.Is(err, errLost) || len(out) != 2 {
		t.Fatalf("got %d outcomes, %v", len(out), err)
	}
	host.failAfter = 0
	out = issue(t, i, host, rs)
	if out[0].Changed || !out[1].Changed || !out[2].Changed {
		t.Errorf("got %+v", out)
	}
	checkLeaf(t, host)
}

// TestKeyWithoutCertificateIsKept checks that a key without its certificate is kept, and so is an
// unreadable one: it may have signed something.
func TestKeyWithoutCertificateIsKept(t *testing.T) {
	t.Parallel()
	host := newMemory()
	i := pki.New(pki.Options{Now: start})
	issue(t, i, host, requests(clusterCA("ECDSA-P256")))
	private := string(host.files[dir+"/ca.key"])
	before := certificate(t, host, dir+"/ca.crt")
	delete(host.files, dir+"/ca.crt")
	out := issue(t, pki.New(pki.Options{Now: start}), host, requests(clusterCA("ECDSA-P256"), apiserver("ECDSA-P256")))
	after := certificate(t, host, dir+"/ca.crt")
	if !out[0].Changed || string(host.files[dir+"/ca.key"]) != private || !before.PublicKey.(*ecdsa.PublicKey).Equal(after.PublicKey) {
		t.Error("the key was replaced")
	}
	checkLeaf(t, host)
	delete(host.files, dir+"/ca.crt")
	host.files[dir+"/ca.key"] = []byte("nonsense")
	_, err := pki.New(pki.Options{Now: start}).IssueAll(t.Context(), host, requests(clusterCA("ECDSA-P256")), providers.Batch{})
	want := "cannot issue CA kubernetes: " + dir + "/ca.key is there without a certificate, and is not written over: it cannot be used: cannot parse key: no PEM block with a private key. " +
		"If nothing was ever signed with it, delete it"
	if err == nil || err.Error() != want || string(host.files[dir+"/ca.key"]) != "nonsense" {
		t.Errorf("a key that cannot be read: %v, want %s", err, want)
	}
}

// TestErrorsNameMissingFileOnly checks that errors name what is missing and quote no file.
func TestErrorsNameMissingFileOnly(t *testing.T) {
	t.Parallel()
	const canary = "c2VjcmV0LWNhbmFyeQ"
	ca := newMemory()
	issue(t, pki.New(pki.Options{Now: start}), ca, requests(clusterCA("ECDSA-P256")))
	crt := ca.files[dir+"/ca.crt"]
	other := newMemory()
	issue(t, pki.New(pki.Options{Now: start}), other, requests(clusterCA("ECDSA-P256")))
	damaged := []byte("-----BEGIN EC PRIVATE KEY-----\n" + canary + "==\n-----END EC PRIVATE KEY-----\n")
	for _, tt := range []struct {
		name  string
		files map[string][]byte
		op    planner.Operation
		want  string
	}{
		{"no CA", nil, apiserver("ECDSA-P256"), "cannot issue certificate /etc/kubernetes/pki/apiserver.crt: cannot use CA kubernetes: /etc/kubernetes/pki/ca.crt is not there"},
		{"no key", map[string][]byte{dir + "/ca.crt": crt}, apiserver("ECDSA-P256"), "/etc/kubernetes/pki/ca.key is not there"},
		{"damaged key", map[string][]byte{dir + "/ca.crt": crt, dir + "/ca.key": damaged}, apiserver("ECDSA-P256"), "the EC PRIVATE KEY block is damaged"},
		{"wrong key", map[string][]byte{dir + "/ca.crt": crt, dir + "/ca.key": other.files[dir+"/ca.key"]}, apiserver("ECDSA-P256"), "the key does not belong to the certificate"},
		{"bad algorithm", nil, clusterCA("DSA"), `algorithm "DSA" is none of`},
		{"no kubeconfig", nil, planner.SetKubeconfig{Path: "/x", Server: "y"}, "cannot change /x: it is not there"},
		{"broken kubeconfig", map[string][]byte{"/x": []byte("users: {token: " + canary + "}: :")}, planner.SetKubeconfig{Path: "/x", Server: "y"}, "it is no YAML of that kind"},
		{"nothing to copy", nil, planner.CopySecrets{From: state.NodeTarget("a"), Files: []planner.SecretFile{{Path: "/y"}}}, "cannot copy /y: it is not on node.a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			host := newMemory()
			for p, b := range tt.files {
				host.files[p] = b
			}
			_, err := pki.New(pki.Options{Now: start}).IssueAll(t.Context(), host, requests(tt.op), providers.Batch{})
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), canary) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			if host.performs != 0 {
				t.Error("something was written")
			}
		})
	}
}

// TestPreparedKeysAreUsedOnce checks that keys made in advance are used once each.
func TestPreparedKeysAreUsedOnce(t *testing.T) {
	t.Parallel()
	host := newMemory()
	i := pki.New(pki.Options{Now: start})
	all := requests(clusterCA("ECDSA-P256"), apiserver("ECDSA-P256"), admin("ECDSA-P256"))
	var ops planner.Operations
	for _, r := range all {
		ops = append(ops, r.Operation)
	}
	i.Prepare(t.Context(), &planner.Plan{Steps: []planner.Step{{Operations: ops}}})
	issue(t, i, host, all)
	checkLeaf(t, host)
	issue(t, i, newMemory(), all)
	if string(host.files[dir+"/ca.key"]) == string(host.files[dir+"/apiserver.key"]) {
		t.Error("a key was used twice")
	}
}

package sim_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
)

// operatorFiles returns a CA, its key and a kubeconfig made with them, keyed by reference.
func operatorFiles(t *testing.T, now time.Time) map[string]state.Secret {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: "kubernetes"}, NotBefore: now, NotAfter: now.Add(year),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, DNSNames: []string{"kubernetes"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	must(err)
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	secret := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
	b64 := base64.StdEncoding.EncodeToString
	conf := `apiVersion: v1
kind: Config
current-context: a@b
contexts: [{name: a@b, context: {cluster: b, user: a}}]
clusters: [{name: b, cluster: {server: "https://api.example.com:6443", certificate-authority-data: ` + b64(cert) + `}}]
users: [{name: a, user: {client-certificate-data: ` + b64(cert) + `, client-key-data: ` + b64(secret) + `}}]
`
	return map[string]state.Secret{
		"config:ca.certificate": state.NewSecret(cert), "config:ca.key": state.NewSecret(secret),
		"config:other": state.NewSecret([]byte("hush")), "config:admin": state.NewSecret([]byte(conf)),
	}
}

func TestImportSecrets(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	batch := r.batch()
	batch.Contents = operatorFiles(t, r.w.Now().Add(-time.Hour))
	issuer := sim.Issuer{}
	op := planner.ImportSecrets{}
	for name, path := range map[string]string{"config:ca.certificate": pki + "/ca.crt", "config:ca.key": pki + "/ca.key", "config:admin": "/etc/kubernetes/admin.conf", "config:other": "/etc/other"} {
		op.Files = append(op.Files, planner.SecretFile{Source: name, Path: path, Mode: "0600", Owner: "root:root"})
	}
	ctx, host := context.Background(), r.w.Host(cp1)
	for _, want := range []bool{true, false} {
		outcome, err := issuer.ImportSecrets(ctx, host, op, batch)
		r.must(err)
		if outcome.Changed != want {
			t.Errorf("changed is %v, want %v", outcome.Changed, want)
		}
	}
	files := r.observe(cp1, state.Query{Files: []state.FileQuery{{Path: pki + "/ca.crt", Read: state.ReadCertificate}, {Path: "/etc/kubernetes/admin.conf", Read: state.ReadKubeconfig}}}).Files
	ca, conf := files[pki+"/ca.crt"].Certificates, files["/etc/kubernetes/admin.conf"].Kubeconfig
	if len(ca) != 1 || ca[0].Algorithm != "ECDSA-P256" || !ca[0].IsCA || ca[0].IssuerKeyDigest != ca[0].KeyDigest {
		t.Fatalf("CA is %+v", ca)
	}
	if conf == nil || conf.Server != "https://api.example.com:6443" || conf.CAs[0].KeyDigest != ca[0].KeyDigest || conf.Client.CommonName != "kubernetes" {
		t.Errorf("kubeconfig is %+v", conf)
	}
	for _, signer := range []planner.Signer{{Base: pki + "/ca"}, {Base: pki + "/ca", Operator: "config:ca"}} {
		_, err := issuer.IssueCertificate(ctx, host, host, planner.IssueCertificate{
			CA: signer, CommonName: "x", Usages: []string{"client auth"}, Algorithm: "RSA-2048", Validity: year, To: "/etc/x", Renew: true,
		}, batch)
		r.must(err)
		f := r.observe(cp1, state.Query{Files: []state.FileQuery{{Path: "/etc/x.crt", Read: state.ReadCertificate}, {Path: pki + "/ca.crt", Read: state.ReadCertificate}}}).Files["/etc/x.crt"]
		if f.Certificates[0].IssuerKeyDigest != ca[0].KeyDigest {
			t.Errorf("signed by %s", f.Certificates[0].IssuerKeyDigest)
		}
	}
	world, err := r.w.JSON()
	r.must(err)
	if bytes.Contains(world, []byte("PRIVATE KEY")) || bytes.Contains(world, []byte("hush")) {
		t.Error("the world holds a secret")
	}
}

func TestExternalEtcd(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.mark(cp1)
	r.cas(cp1)
	r.leaves(cp1)
	r.kubeconfigs(cp1, true)
	endpoints := []string{"https://etcd-1.example.com:2379", "https://etcd-2.example.com:2379"}
	r.perform(cp1, write(manifests+"/kube-apiserver.yaml", apiManifest(cp1, "etcd-servers="+endpoints[0]+","+endpoints[1]), "0600"))
	r.kubelet(cp1, "")
	r.eventually("API", func() bool { return r.ready(cp1) })
	etcd, err := sim.Access{}.Etcd(context.Background(), r.w.Host(cp1), endpoints, "")
	r.must(err)
	members, _, err := etcd.Members(context.Background())
	if err != nil || len(members) != 2 || !members[0].Healthy || !members[0].Leader {
		t.Errorf("got %+v, %v", members, err)
	}
}

func TestHostProfiles(t *testing.T) {
	t.Parallel()
	w := sim.New(1, sim.DefaultProfile())
	p := sim.DefaultProfile()
	p.Arch, p.KubeletVersion = "arm64", "1.37.1"
	w.SetHost("cp1.example.com", p, "cp1", "10.1.1.1", "fd00::1")
	r, err := w.Host("cp1.example.com").Observe(context.Background(), state.Query{Images: true})
	if err != nil || r.Facts.Hostname != "cp1" || r.Facts.Arch != "arm64" || len(r.Facts.Addresses) != 2 || r.Facts.KubeletVersion != "1.37.1" {
		t.Errorf("got %+v, %v", r, err)
	}
	other, err := w.Host("cp1.example.com").Observe(context.Background(), state.Query{Images: true, CRISocket: "unix:///run/crio/crio.sock"})
	if err != nil || len(r.Images) == 0 || len(other.Images) != 0 {
		t.Errorf("for the existing runtime it reports %v, for another one %v, %v", r.Images, other.Images, err)
	}
	one, two := w.Host("a.example.com"), w.Host("b.example.com")
	if one.HostKey() == two.HostKey() {
		t.Error("two hosts have one key")
	}
	key := one.HostKey()
	w.SetConditions("a.example.com", sim.Conditions{ChangedHostKey: true})
	if one.HostKey() == key {
		t.Error("the key did not change")
	}
	if got := w.Hosts(); len(got) != 3 {
		t.Errorf("hosts are %v", got)
	}
}

package pki_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers/pki"
	"github.com/kubewright/kubewright/state"
)

func TestLinkCertificatesToSigners(t *testing.T) {
	t.Parallel()
	host := newMemory()
	front := planner.IssueCA{CommonName: "kubernetes", Algorithm: "ECDSA-P256", Validity: day, To: dir + "/front-proxy-ca"}
	issue(t, pki.New(pki.Options{Now: start}), host, requests(clusterCA("ECDSA-P256"), front, apiserver("ECDSA-P256")))
	files := map[string]state.FileReport{dir + "/x": {Exists: true, Content: []byte("kept")}}
	for _, p := range []string{dir + "/ca.crt", dir + "/front-proxy-ca.crt", dir + "/apiserver.crt"} {
		certs, err := pki.ParseCertificates(host.files[p])
		if err != nil {
			t.Fatal(err)
		}
		files[p] = state.FileReport{Exists: true, Content: host.files[p], Certificates: certs}
	}
	pki.Link(files)
	ca := files[dir+"/ca.crt"].Certificates[0]
	leaf := files[dir+"/apiserver.crt"]
	// Both CAs have the same name: only the signature distinguishes them.
	if got := leaf.Certificates[0].IssuerKeyDigest; got != ca.KeyDigest {
		t.Errorf("got issuer %s, want %s", got, ca.KeyDigest)
	}
	if ca.IssuerKeyDigest != ca.KeyDigest {
		t.Errorf("the CA's own issuer is %s", ca.IssuerKeyDigest)
	}
	if leaf.Content != nil || string(files[dir+"/x"].Content) != "kept" {
		t.Error("the certificate's PEM is to go, other content to stay")
	}
}

// TestManyCertificatesOfOneNameAreBounded checks that a host with many certificates of one name costs no more
// than other hosts.
func TestManyCertificatesOfOneNameAreBounded(t *testing.T) {
	t.Parallel()
	host := newMemory()
	var bundle []byte
	for range 20 {
		issue(t, pki.New(pki.Options{Now: start}), host, requests(clusterCA("ECDSA-P256")))
		bundle = append(bundle, host.files[dir+"/ca.crt"]...)
		delete(host.files, dir+"/ca.crt")
		delete(host.files, dir+"/ca.key")
	}
	many := bytes.Repeat(bundle, 50)
	certs, err := pki.ParseCertificates(many)
	if err != nil || len(certs) != 1000 {
		t.Fatalf("%d certificates, %v", len(certs), err)
	}
	if c := certs[19]; c.IssuerKeyDigest != c.KeyDigest {
		t.Errorf("the issuer of the twentieth is %q", c.IssuerKeyDigest)
	}
	if _, err := pki.ParseCertificates(append(many, bundle...)); err == nil || err.Error() != "it holds 1020 certificates, more than 1000" {
		t.Errorf("got %v", err)
	}
}

func TestParseKubeconfig(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"cluster-info", "kind: Config\nclusters: [{name: '', cluster: {server: 'https://a:6443'}}]", "https://a:6443"},
		{"masked key", "kind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n" +
			"clusters: [{name: k, cluster: {server: 'https://b:6443'}}]\nusers: [{name: u, user: {client-key-data: '***'}}]", "https://b:6443"},
		{"another kind", "kind: Pod", "error: cannot parse kubeconfig: it is of another kind"},
		{"no context", "kind: Config\nclusters: [{name: a, cluster: {}}, {name: b, cluster: {}}]", "error: cannot parse kubeconfig: it names no cluster"},
		{"no YAML", "{", "error: cannot parse kubeconfig: it is no YAML of that kind"},
		{"empty", "", "error: cannot parse kubeconfig: it is of another kind"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			info, err := pki.ParseKubeconfig([]byte(tt.text))
			got := ""
			if err != nil {
				got = "error: " + err.Error()
			} else {
				got = info.Server
			}
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// TestUnparsableFileErrorNamesType checks that the error for a file of another type names the type, and
// quotes nothing of the file.
func TestUnparsableFileErrorNamesType(t *testing.T) {
	t.Parallel()
	const damaged = "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"
	for text, want := range map[string]string{
		"":      "cannot parse public keys: there is none",
		damaged: "cannot parse public keys: a block is damaged",
		"-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n": `cannot parse public keys: there is a "RSA PRIVATE KEY" block among them`,
	} {
		if _, err := pki.ParsePublicKeys([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := pki.ParseCertificates([]byte(damaged)); err == nil || err.Error() != "cannot parse certificate: no PEM block CERTIFICATE" {
		t.Errorf("got %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("kind: Config"))
	f.Add([]byte("-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEaxfR8uEsQkf4vOblY6RA8ncDfYEt\n6zOg9KE5RdiYwpZP40Li/hp/m47n60p8D54WK84zV2sxXs7LtkBoN79R9Q==\n-----END PUBLIC KEY-----\n"))
	f.Add([]byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := pki.ParseKubeconfig(b); err != nil && !strings.HasPrefix(err.Error(), "cannot parse") {
			t.Errorf("got %v", err)
		}
		if certs, err := pki.ParseCertificates(b); err == nil && len(certs) == 0 {
			t.Error("neither certificates nor an error")
		}
		if keys, err := pki.ParsePublicKeys(b); err == nil && (len(keys) == 0 || len(keys[0]) != 64) {
			t.Errorf("neither public keys nor an error: %q", keys)
		}
	})
}

package pki_test

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/pki"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/kubeconfig"
)

// TestKubeconfigForTheOperator checks that the certificate is the user's, signed by the
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
	access, err := i.Kubeconfig(t.Context(), host, planner.WriteKubeconfig{
		Path: "/etc/kubernetes/admin.conf", CA: planner.Signer{Name: "kubernetes", Base: base}, Cluster: "prod", Server: "https://api:6443",
		User: "jane", CommonName: "jane", Organizations: []string{"developers"}, Algorithm: "ECDSA-P256", Validity: 8 * time.Hour,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(host.written) != written {
		t.Errorf("wrote %v on the host", host.written[written:])
	}
	s, err := pki.Write(access, pki.Naming{Cluster: "prod", User: "jane@prod", Context: "work", Server: "https://other:6443"})
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

// adminConf returns an admin.conf of a CA that a host holds, with further YAML in its three
// entries and with text around the PEM, as openssl writes it.
func adminConf(t *testing.T, cluster, user, more string) (*memory, []byte) {
	t.Helper()
	i, host := pki.New(pki.Options{}), newMemory()
	const base = "/etc/kubernetes/pki/ca"
	_, caErr := i.IssueCA(t.Context(), host, planner.IssueCA{CommonName: "kubernetes", Algorithm: "ECDSA-P256", Validity: 24 * time.Hour, To: base}, providers.Batch{})
	_, leafErr := i.IssueCertificate(t.Context(), host, host, planner.IssueCertificate{
		CommonName: "kubernetes-admin", CA: planner.Signer{Name: "kubernetes", Base: base}, To: "/admin", Algorithm: "ECDSA-P256", Validity: time.Hour, Usages: []string{"client auth"},
	}, providers.Batch{})
	if err := errors.Join(caErr, leafErr); err != nil {
		t.Fatal(err)
	}
	data := func(name string) string {
		return base64.StdEncoding.EncodeToString(slices.Concat([]byte("a host's words\n"), host.files[name], []byte("and further ones\n")))
	}
	host.files["/etc/kubernetes/admin.conf"] = fmt.Appendf(nil, `apiVersion: v1
kind: Config
preferences: {}
current-context: kubernetes-admin@kubernetes
clusters:
- name: kubernetes
  cluster: {server: "https://10.0.0.1:6443", certificate-authority-data: %s%s}
users:
- name: kubernetes-admin
  user: {client-certificate-data: %s, client-key-data: %s%s}
contexts:
- name: kubernetes-admin@kubernetes
  context: {cluster: kubernetes, user: kubernetes-admin}
%s`, data(base+".crt"), cluster, data("/admin.crt"), data("/admin.key"), user, more)
	return host, host.files[base+".crt"]
}

// TestReadKubeconfig checks that the operator gets CA, certificate and key, with names and
// server of his own.
func TestReadKubeconfig(t *testing.T) {
	t.Parallel()
	host, ca := adminConf(t, "", "", "")
	a, err := pki.New(pki.Options{}).ReadKubeconfig(t.Context(), host, "/etc/kubernetes/admin.conf")
	if err != nil {
		t.Fatal(err)
	}
	if string(a.CA.Reveal()) != string(ca) || len(a.Trusted) != 1 || a.Server != "https://10.0.0.1:6443" || a.Client.CommonName != "kubernetes-admin" {
		t.Errorf("got %+v", a)
	}
	s, err := pki.Write(a, pki.Naming{Cluster: "prod", User: "me", Context: "work", Server: "https://api:6443"})
	if err != nil {
		t.Fatal(err)
	}
	enc := func(s state.Secret) string { return base64.StdEncoding.EncodeToString(s.Reveal()) }
	want := fmt.Sprintf(`apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: %s
    server: https://api:6443
  name: prod
contexts:
- context:
    cluster: prod
    user: me
  name: work
current-context: work
kind: Config
users:
- name: me
  user:
    client-certificate-data: %s
    client-key-data: %s
`, base64.StdEncoding.EncodeToString(ca), enc(a.Certificate), enc(a.Key))
	if string(s.Reveal()) != want || strings.Contains(string(a.Certificate.Reveal())+string(a.Key.Reveal()), "words") {
		t.Errorf("got\n%s\nwant\n%s", s.Reveal(), want)
	}
}

// TestReadKubeconfigRefusesForeignFields checks that a field added by a host is named in the error,
// whatever it is.
func TestReadKubeconfigRefusesForeignFields(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ cluster, user, more, want string }{
		{cluster: "proxy-url: http://192.0.2.1", want: `clusters["kubernetes"].proxy-url`},
		{cluster: "insecure-skip-tls-verify: true", want: `clusters["kubernetes"].insecure-skip-tls-verify`},
		{cluster: "certificate-authority: /etc/passwd", want: `clusters["kubernetes"].certificate-authority`},
		{cluster: "tls-server-name: other", want: `clusters["kubernetes"].tls-server-name`},
		{cluster: "disable-compression: true", want: `clusters["kubernetes"].disable-compression`},
		{user: "exec: {command: sh}", want: `users["kubernetes-admin"].exec`},
		{user: "auth-provider: {name: gcp, config: {cmd-path: sh}}", want: `users["kubernetes-admin"].auth-provider`},
		{user: "token: abc", want: `users["kubernetes-admin"].token`},
		{user: "tokenFile: /dev/zero", want: `users["kubernetes-admin"].tokenFile`},
		{user: "client-certificate: /x", want: `users["kubernetes-admin"].client-certificate`},
		{user: "client-key: /x", want: `users["kubernetes-admin"].client-key`},
		{user: "username: a, password: b", want: `users["kubernetes-admin"].password, users["kubernetes-admin"].username`},
		{user: "as: root, as-groups: [system:masters]", want: `users["kubernetes-admin"].as, users["kubernetes-admin"].as-groups`},
		{more: "extensions: [{name: a, extension: {b: c}}]", want: "extensions"},
		{more: "preferences2: {colors: true}", want: "preferences2"},
		{more: "- name: b\n  context: {cluster: kubernetes, user: kubernetes-admin}", want: `contexts["b"]`},
	} {
		for _, entry := range []*string{&tt.cluster, &tt.user} {
			if *entry != "" {
				*entry = ", " + *entry
			}
		}
		host, _ := adminConf(t, tt.cluster, tt.user, tt.more)
		_, err := pki.New(pki.Options{}).ReadKubeconfig(t.Context(), host, "/etc/kubernetes/admin.conf")
		foreign := (*kubeconfig.ForeignError)(nil)
		if want := "cannot use /etc/kubernetes/admin.conf: it sets " + tt.want; !errors.As(err, &foreign) || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// TestReadKubeconfigRefusesOtherKey checks that a certificate with the key of another one is refused,
// and that the error quotes nothing of the key.
func TestReadKubeconfigRefusesOtherKey(t *testing.T) {
	t.Parallel()
	const path = "/etc/kubernetes/admin.conf"
	host, _ := adminConf(t, "", "", "")
	other, _ := adminConf(t, "", "", "")
	key := func(m *memory) []byte {
		_, rest, _ := strings.Cut(string(m.files[path]), "client-key-data: ")
		data, _, _ := strings.Cut(rest, "}")
		return []byte(data)
	}
	host.files[path] = bytes.Replace(host.files[path], key(host), key(other), 1)
	_, err := pki.New(pki.Options{}).ReadKubeconfig(t.Context(), host, path)
	if want := "cannot use " + path + ": its client certificate and key do not belong together"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestMergeRefusesInvalidKubeconfig(t *testing.T) {
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

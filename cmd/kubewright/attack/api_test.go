package attack

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"
)

// authority is the CA of a hostile control plane.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(a *arena) *authority {
	a.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	a.must(err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kubernetes"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(10, 0, 0),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	a.must(err)
	cert, err := x509.ParseCertificate(der)
	a.must(err)
	return &authority{cert, key}
}

func certificatePEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// issue returns a certificate and its key, each in PEM.
func (c *authority) issue(a *arena, name pkix.Name, usage x509.ExtKeyUsage) (cert, key []byte) {
	a.Helper()
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	a.must(err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: name, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{usage},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
		IPAddresses: []net.IP{net.IPv4(192, 0, 2, 1), net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, c.cert, own.Public(), c.key)
	a.must(err)
	encoded, err := x509.MarshalECPrivateKey(own)
	a.must(err)
	return certificatePEM(der), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded})
}

// controlPlane is a hostile host that has the files of a control plane.
type controlPlane struct {
	// cluster and user are additional lines of those objects in admin.conf.
	cluster, user string
	// without leaves the client certificate out of admin.conf.
	without bool
	// server is the API server's address in admin.conf; empty for the usual one. A host that
	// names another address refuses to forward connections.
	server string
	// api answers the requests to the API server.
	api http.HandlerFunc
	// asked counts requests to the API server.
	asked atomic.Int64
}

// found starts the host and writes a configuration with it.
func (p *controlPlane) found(a *arena) {
	a.Helper()
	ca := newAuthority(a)
	cert, key := ca.issue(a, pkix.Name{CommonName: "kubernetes-admin", Organization: []string{"kubeadm:cluster-admins"}}, x509.ExtKeyUsageClientAuth)
	caPEM := certificatePEM(ca.cert.Raw)
	encode := base64.StdEncoding.EncodeToString
	client := "\n    client-certificate-data: " + encode(cert) + "\n    client-key-data: " + encode(key)
	if p.without {
		client = ""
	}
	admin := "apiVersion: v1\nkind: Config\ncurrent-context: kubernetes-admin@demo\ncontexts:\n- name: kubernetes-admin@demo\n  context:\n    cluster: demo\n    user: kubernetes-admin\n" +
		"clusters:\n- name: demo\n  cluster:\n    certificate-authority-data: " + encode(caPEM) + "\n    server: " + cmp.Or(p.server, "https://192.0.2.1:6443") + "\n" + indented(p.cluster) +
		"users:\n- name: kubernetes-admin\n  user:\n    username: x" + client + "\n" + indented(p.user)
	admin = strings.Replace(admin, "    username: x\n", "", 1)
	h := &hostile{changed: planted(map[string]string{"/etc/kubernetes/admin.conf": admin, "/etc/kubernetes/pki/ca.crt": string(caPEM)})}
	h.dialled, h.prohibits = p.forward(a, ca), p.server != ""
	a.configure(oneHost, h)
}

func indented(line string) string {
	if line == "" {
		return ""
	}
	return "    " + line + "\n"
}

// forward serves the API to a client that connects through the host.
func (p *controlPlane) forward(a *arena, ca *authority) func(ssh.NewChannel) {
	a.Helper()
	cert, key := ca.issue(a, pkix.Name{CommonName: "kube-apiserver"}, x509.ExtKeyUsageServerAuth)
	pair, err := tls.X509KeyPair(cert, key)
	a.must(err)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.asked.Add(1)
		if p.api == nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		p.api(w, r)
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	a.Cleanup(server.Close)
	return func(ch ssh.NewChannel) {
		channel, requests, err := ch.Accept()
		if err != nil {
			return
		}
		defer func() { _ = channel.Close() }()
		go ssh.DiscardRequests(requests)
		c, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			return
		}
		defer func() { _ = c.Close() }()
		go func() { _, _ = io.Copy(c, channel) }()
		_, _ = io.Copy(channel, c)
	}
}

// lists answers like an API server with objects of the kinds that plan reads: form is one object,
// repeated up to a size in bytes; more is the rest of the list's metadata.
func lists(form string, size int, more string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		kind := ""
		switch {
		case strings.HasSuffix(r.URL.Path, "/nodes"):
			kind = "NodeList"
		case strings.HasSuffix(r.URL.Path, "/pods"):
			kind = "PodList"
		case strings.HasSuffix(r.URL.Path, "z"), r.URL.Path == "/version":
			_, _ = io.WriteString(w, `{"major":"1","minor":"36","gitVersion":"v1.36.3"}`)
			return
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
			return
		}
		_, _ = fmt.Fprintf(w, `{"kind":%q,"apiVersion":"v1","metadata":{%s},"items":[`, kind, more)
		numbered(w, form+",", size)
		_, _ = fmt.Fprintf(w, form+"]}", 0)
	}
}

// onAPI returns an attack on plan by the API of a hostile control plane. It holds if the API
// was queried and the command ends with an error.
func onAPI(name string, api http.HandlerFunc) attack {
	return attack{name: name, run: func(a *arena) {
		p := &controlPlane{api: api}
		p.found(a)
		a.refused(a.kubewright("plan", "-input=false"))
		if p.asked.Load() == 0 {
			a.Error("the API got no request: the attack misses its target")
		}
	}}
}

// onOperator returns an attack by additional content in a control plane's admin.conf; p gets the
// path of a marker. It holds if neither plan nor the kubeconfig that the operator gets follows
// any of it.
func onOperator(name string, p func(marker string) *controlPlane) attack {
	return attack{name: name, run: func(a *arena) {
		marker := a.marker()
		p(marker).found(a)
		a.kubewright("plan", "-input=false")
		a.kubewright("kubeconfig", "-merge")
		written, err := os.ReadFile(filepath.Join(a.home, ".kube", "config"))
		if err != nil && !os.IsNotExist(err) {
			a.Fatal(err)
		}
		for _, word := range []string{"exec:", "tokenFile", "proxy-url", "insecure-skip-tls-verify", "auth-provider", "attacker", marker} {
			if strings.Contains(string(written), word) {
				a.Errorf("the operator's kubeconfig contains %q", word)
			}
		}
	}}
}

func apiAttacks() []attack {
	item := `{"metadata":{"name":"a%d","labels":{"a":"b"}}}`
	user := func(line string) func(string) *controlPlane {
		return func(marker string) *controlPlane {
			return &controlPlane{user: strings.ReplaceAll(line, "MARKER", marker)}
		}
	}
	cluster := func(line string) func(string) *controlPlane {
		return func(string) *controlPlane { return &controlPlane{cluster: line} }
	}
	return []attack{
		onOperator("exec in admin.conf", func(marker string) *controlPlane { return &controlPlane{user: executes(marker)} }),
		long(onOperator("exec alone in admin.conf", func(marker string) *controlPlane { return &controlPlane{without: true, user: executes(marker)} })),
		onOperator("endless tokenFile in admin.conf", user("tokenFile: /dev/zero")),
		long(onOperator("endless certificate in admin.conf", user("client-certificate: /dev/zero"))),
		long(onOperator("proxy in admin.conf", cluster("proxy-url: http://127.0.0.1:1/attacker"))),
		long(onOperator("no verification in admin.conf", cluster("insecure-skip-tls-verify: true"))),
		long(onOperator("name to verify in admin.conf", cluster("tls-server-name: attacker"))),
		long(attack{name: "FIFO as tokenFile in admin.conf", run: func(a *arena) {
			pipe := filepath.Join(a.outside, "pipe")
			a.must(syscall.Mkfifo(pipe, 0o600))
			(&controlPlane{user: "tokenFile: " + pipe}).found(a)
			a.kubewright("plan", "-input=false")
		}}),
		onAPI("list of a megabyte of unknown nodes", lists(item, 1<<20, `"resourceVersion":"1"`)),
		long(onAPI("list of 60 MiB", lists(item, 60<<20, `"resourceVersion":"1"`))),
		long(onAPI("pages without end", lists(item, 1000, `"continue":"more"`))),
		long(onAPI("pages of a megabyte without end", lists(item, 1<<20, `"continue":"more"`))),
		long(onAPI("answer without end", func(w http.ResponseWriter, _ *http.Request) { flood(w, " ") })),
		long(onAPI("names with escapes", lists(`{"metadata":{"name":"\u001b[2J\u202e::error::%d"}}`, 100, `"resourceVersion":"1"`))),
		long(onAPI("nested deeply", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, strings.Repeat(`{"a":`, 1_000_000))
		})),
		long(onAPI("errors with escapes", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, noise)
		})),
		long(onAPI("redirects to another server", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://127.0.0.1:1/attacker", http.StatusFound)
		})),
	}
}

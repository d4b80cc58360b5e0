package kube_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/test/bufconn"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/kube"
	"github.com/kubewright/kubewright/providers/pki"
	"github.com/kubewright/kubewright/state"
)

const (
	adminConf      = "/etc/kubernetes/admin.conf"
	superAdminConf = "/etc/kubernetes/super-admin.conf"
	endpoint       = "10.77.0.11:6443"
)

// host holds files and directs every connection to one server.
type host struct {
	providers.Host
	server *bufconn.Listener // nil where nothing listens

	mu    sync.Mutex
	files map[string][]byte
	dials int
}

func (h *host) Perform(_ context.Context, b providers.Batch) ([]providers.Outcome, error) {
	for _, op := range b.Operations {
		w := op.(planner.WriteFile)
		h.files[w.Path] = b.Contents[w.Content.Ref].Reveal()
	}
	return make([]providers.Outcome, len(b.Operations)), nil
}

func (h *host) ReadSecrets(_ context.Context, paths []string) (map[string]state.Secret, error) {
	out := map[string]state.Secret{}
	for _, p := range paths {
		if b, ok := h.files[p]; ok {
			out[p] = state.NewSecret(b)
		}
	}
	return out, nil
}

func (h *host) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	h.mu.Lock()
	h.dials++
	server := h.server
	h.mu.Unlock()
	if address != endpoint {
		return nil, errors.New("unexpected address " + address)
	}
	if server == nil {
		return nil, &providers.Error{Kind: providers.ErrUnreachable, Do: "connect to " + address}
	}
	return server.DialContext(ctx)
}

// answer is the server's answer to one request; without a code the connection is lost.
type answer struct {
	code int
	body any
}

// raw is a body that is not JSON.
type raw string

// sending is a body that is sent piecewise.
type sending func(http.ResponseWriter)

func status(code int, reason string) answer {
	return answer{code, map[string]any{
		"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code, "message": "it is " + reason,
	}}
}

// api is an API server that answers from a table, for any user.
type api struct {
	mu       sync.Mutex
	requests []string
	bodies   map[string][]byte
	// ca is the certificate of the cluster's CA.
	ca []byte
	// contentType is that of the request under way.
	contentType string
	// expires are the paths of lists whose rest expires once.
	expires map[string]bool
	// expired counts the requests for the rest of a list that find it expired.
	expired int
	// handle answers; user is the client certificate's common name.
	handle func(user, method, path string, body []byte) answer
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	user := r.TLS.PeerCertificates[0].Subject.CommonName
	a.mu.Lock()
	a.requests = append(a.requests, user+" "+r.Method+" "+r.URL.RequestURI())
	a.bodies[r.Method+" "+r.URL.Path] = body
	a.contentType = r.Header.Get("Content-Type")
	got := status(422, "Invalid") // force is valid for an apply alone
	if r.Method != http.MethodPatch || r.URL.Query().Get("force") == "" || a.contentType == string(types.ApplyPatchType) {
		got = a.handle(user, r.Method, r.URL.Path, body)
	}
	a.mu.Unlock()
	if got.code == 0 {
		panic(http.ErrAbortHandler)
	}
	if text, ok := got.body.(string); ok {
		w.WriteHeader(got.code)
		fmt.Fprint(w, text)
		return
	}
	if send, ok := got.body.(sending); ok {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(got.code)
		send(w)
		return
	}
	if text, ok := got.body.(raw); ok {
		w.WriteHeader(got.code)
		_, _ = io.WriteString(w, string(text))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	got = a.page(r, got)
	w.WriteHeader(got.code)
	_ = json.NewEncoder(w).Encode(got.body)
}

// page returns the requested part of a list, as an API server does: with the continue token
// and the number of remaining items.
func (a *api) page(r *http.Request, whole answer) answer {
	limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
	var list struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Metadata   map[string]any    `json:"metadata"`
		Items      []json.RawMessage `json:"items"`
	}
	text, _ := json.Marshal(whole.body)
	if json.Unmarshal(text, &list) != nil || err != nil || r.Method != http.MethodGet || !strings.HasSuffix(list.Kind, "List") || list.Metadata["continue"] != nil {
		return whole
	}
	from, rest := 0, r.URL.Query().Get("continue")
	if rest != "" {
		a.mu.Lock()
		expired := a.expired > 0 || a.expires[r.URL.Path]
		a.expired--
		delete(a.expires, r.URL.Path)
		a.mu.Unlock()
		if from, err = strconv.Atoi(rest); err != nil || from > len(list.Items) {
			return status(400, "BadRequest")
		}
		if expired {
			return status(410, "Expired")
		}
	}
	to := min(from+limit, len(list.Items))
	metadata := map[string]any{"resourceVersion": "1000"}
	if to < len(list.Items) {
		metadata["continue"], metadata["remainingItemCount"] = strconv.Itoa(to), len(list.Items)-to
	}
	return answer{whole.code, map[string]any{"kind": list.Kind, "apiVersion": list.APIVersion, "metadata": metadata, "items": list.Items[from:to]}}
}

// decoded returns the typed object in a request's body, whatever its encoding.
func (a *api) decoded(t *testing.T, request string) runtime.Object {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	o, _, err := scheme.Codecs.UniversalDeserializer().Decode(a.bodies[request], nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func (a *api) saw(request string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for _, r := range a.requests {
		if strings.HasPrefix(r, request) {
			n++
		}
	}
	return n
}

// start runs an API server with a cluster's certificates and returns a host
// through which it is reached.
func start(t *testing.T, handle func(user, method, path string, body []byte) answer) (*api, *host) {
	t.Helper()
	h := &host{files: map[string][]byte{}}
	ca := planner.Signer{Name: "kubernetes", Base: "/pki/ca"}
	requests := []providers.KeyRequest{
		{Operation: planner.IssueCA{CommonName: "kubernetes", Algorithm: "ECDSA-P256", Validity: time.Hour, To: "/pki/ca"}},
		{Operation: planner.IssueCertificate{CA: ca, CommonName: "kube-apiserver", IPAddresses: []string{"10.77.0.11"}, Usages: []string{"server auth"}, Algorithm: "ECDSA-P256", Validity: time.Hour, To: "/pki/apiserver"}},
	}
	for path, user := range map[string]string{adminConf: "kubernetes-admin", superAdminConf: "kubernetes-super-admin"} {
		requests = append(requests, providers.KeyRequest{Operation: planner.WriteKubeconfig{
			Path: path, CA: ca, Cluster: "kubernetes", Server: "https://balancer:6443", User: user, CommonName: user, Algorithm: "ECDSA-P256", Validity: time.Hour,
		}})
	}
	if _, err := pki.New(pki.Options{}).IssueAll(t.Context(), h, requests, providers.Batch{}); err != nil {
		t.Fatal(err)
	}
	a := &api{bodies: map[string][]byte{}, handle: handle, ca: h.files["/pki/ca.crt"]}
	h.server = bufconn.Listen(64 << 10) // no socket, so that a test may be in a bubble of testing/synctest
	server := httptest.NewUnstartedServer(a)
	server.Listener.Close()
	server.Listener = h.server
	pair, err := tls.X509KeyPair(h.files["/pki/apiserver.crt"], h.files["/pki/apiserver.key"])
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(h.files["/pki/ca.crt"])
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}
	server.EnableHTTP2 = true
	server.Config.ErrorLog = nil
	server.StartTLS()
	t.Cleanup(server.Close)
	return a, h
}

func open(t *testing.T, h *host) *kube.API {
	t.Helper()
	a, err := kube.Open(t.Context(), h, endpoint)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a
}

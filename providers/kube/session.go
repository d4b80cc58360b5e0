package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/budget"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/kubeconfig"
)

// fieldManager owns the fields that Apply sets.
const fieldManager = "kubewright"

// The administrator kubeconfigs that kubeadm writes.
const (
	adminConf      = "/etc/kubernetes/admin.conf"
	superAdminConf = "/etc/kubernetes/super-admin.conf"
)

// API implements providers.API. It may be used from several goroutines.
//
// Errors wrap a kind if one is known: providers.ErrUnreachable when no connection was made,
// ErrDisconnected and ErrTimeout when something may have happened, including a write
// request that the API reports as failed, ErrUnavailable when it answered that it does not
// serve now, ErrNotFound when a node to be changed does not exist, ErrProtocol for an
// answer without an end.
type API struct {
	// sessions are the administrator's and, on the first control plane, the super
	// administrator's.
	sessions []*session

	// pace is how fast the API has to answer an observation.
	pace budget.Pace

	mu sync.Mutex
	// found are the kinds found by discovery.
	found map[schema.GroupVersionKind]mapping
}

var (
	_ providers.API          = (*API)(nil)
	_ providers.ObjectReader = (*API)(nil)
)

// session is the API as one user.
type session struct {
	http    *http.Client
	typed   *clients
	dynamic dynamic.Interface
	// config is the one of typed.
	config *rest.Config
}

// Open reads the administrator's kubeconfig from the host and returns a client
// of the API server at endpoint (host:port), which it reaches through the host.
// The server's certificate is verified for the endpoint's host against the CA
// of the kubeconfig. Nothing is sent to the API yet.
func Open(ctx context.Context, via providers.Host, endpoint string) (*API, error) {
	return OpenWithin(ctx, budget.New(), via, endpoint)
}

// OpenWithin is Open with a run's memory budget for answers.
func OpenWithin(ctx context.Context, b *budget.Budget, via providers.Host, endpoint string) (*API, error) {
	files, err := via.ReadSecrets(ctx, []string{adminConf, superAdminConf})
	if err != nil {
		return nil, fmt.Errorf("cannot read the administrator's kubeconfig: %w", err)
	}
	a := &API{found: map[schema.GroupVersionKind]mapping{}, pace: budget.Pace{Silence: silence, Total: observeTime}}
	for _, path := range []string{adminConf, superAdminConf} {
		if files[path].IsZero() {
			continue
		}
		s, err := newSession(b, via, endpoint, files[path])
		if err != nil {
			return nil, fmt.Errorf("cannot use %s: %w", path, err)
		}
		a.sessions = append(a.sessions, s)
	}
	if len(a.sessions) == 0 {
		return nil, fmt.Errorf("cannot reach the API: %s is not there", adminConf)
	}
	return a, nil
}

// newSession takes CA, certificate and key from the host's kubeconfig and ignores
// everything else in it: it opens no file that it names here, and runs no program.
func newSession(b *budget.Budget, via providers.Host, endpoint string, content state.Secret) (*session, error) {
	file, err := kubeconfig.Parse(content.Reveal())
	if err != nil {
		return nil, err
	}
	access, err := file.Access("")
	if err != nil {
		return nil, err
	}
	if len(access.User.Certificate) == 0 || len(access.User.Key) == 0 || len(access.Cluster.CA) == 0 {
		const lacks = "it does not hold the CA, the client certificate and its key"
		if foreign := file.Refuse(); foreign != nil {
			return nil, fmt.Errorf("%s; %w, which is not followed", lacks, foreign)
		}
		return nil, errors.New(lacks)
	}
	return connect(&rest.Config{
		Host: (&url.URL{Scheme: "https", Host: endpoint}).String(),
		TLSClientConfig: rest.TLSClientConfig{
			CAData: access.Cluster.CA, CertData: access.User.Certificate, KeyData: access.User.Key,
		},
		Dial: via.DialContext,
	}, b)
}

// connect makes the clients of a session, which share their connections. Answers that
// exceed their limits are cut off.
func connect(config *rest.Config, b *budget.Budget) (*session, error) {
	// The connection starts on the host, so the operator's proxy does not apply.
	config.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil }
	config.UserAgent = fieldManager
	config.QPS = -1
	config.DisableCompression = true
	config.WarningHandler = rest.NoWarnings{}
	config.Wrap(func(rt http.RoundTripper) http.RoundTripper { return capped{rt, b} })
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, errors.New("its client certificate, key and CA do not fit together")
	}
	s := &session{http: client}
	if s.dynamic, err = dynamic.NewForConfigAndClient(config, client); err != nil {
		return nil, err
	}
	typed := rest.CopyConfig(config)
	typed.AcceptContentTypes = "application/json" // which can be measured while it arrives
	typed.ContentType = "application/vnd.kubernetes.protobuf"
	s.config = typed
	if s.typed, err = newClients(typed, client); err != nil {
		return nil, err
	}
	return s, nil
}

// Close closes idle connections.
func (a *API) Close() error {
	for _, s := range a.sessions {
		if s.http != nil {
			// Not s.http.CloseIdleConnections: what client-go wraps around a transport hides it.
			utilnet.CloseIdleConnectionsFor(s.http.Transport)
		}
	}
	return nil
}

// as calls act as the administrator, and again as the super administrator if that was
// forbidden.
func (a *API) as(do string, act func(*session) error) error {
	var err error
	for _, s := range a.sessions {
		if err = act(s); err == nil || !forbidden(err) {
			break
		}
	}
	return failure(do, err)
}

// resource returns the client for objects of a kind.
func (a *API) resource(ctx context.Context, s *session, ref state.ObjectRef) (dynamic.ResourceInterface, error) {
	m, err := a.mapping(ctx, s, schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind))
	if err != nil {
		return nil, err
	}
	client := s.dynamic.Resource(m.resource)
	if !m.namespaced {
		return client, nil
	}
	namespace := ref.Namespace
	if namespace == "" {
		namespace = "default"
	}
	return client.Namespace(namespace), nil
}

// mapping is how a kind is addressed.
type mapping struct {
	resource   schema.GroupVersionResource
	namespaced bool
}

// mapping finds a kind among the built-in ones, or by discovery. An unknown kind is a
// meta.NoKindMatchError.
func (a *API) mapping(ctx context.Context, s *session, kind schema.GroupVersionKind) (mapping, error) {
	if known, ok := kinds()[kind.GroupKind()]; ok {
		return mapping{kind.GroupVersion().WithResource(known.resource), known.namespaced}, nil
	}
	a.mu.Lock()
	m, ok := a.found[kind]
	a.mu.Unlock()
	if ok {
		return m, nil
	}
	served, err := servedResources(ctx, s, kind.GroupVersion())
	if err != nil {
		return mapping{}, err
	}
	for _, r := range served {
		if r.Kind == kind.Kind && !isSubresource(r.Name) {
			m := mapping{kind.GroupVersion().WithResource(r.Name), r.Namespaced}
			a.mu.Lock()
			a.found[kind] = m
			a.mu.Unlock()
			return m, nil
		}
	}
	return mapping{}, &meta.NoKindMatchError{GroupKind: kind.GroupKind(), SearchedVersions: []string{kind.Version}}
}

// servedResources returns the resources of a group version; none if it is not served.
func servedResources(ctx context.Context, s *session, gv schema.GroupVersion) ([]metav1.APIResource, error) {
	path := "/apis/" + gv.String()
	if gv.Group == "" {
		path = "/api/" + gv.Version
	}
	b, err := s.typed.Discovery().RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json").DoRaw(ctx)
	if err != nil {
		return nil, ignoreAbsent(err)
	}
	var list metav1.APIResourceList
	if err := json.Unmarshal(b, &list); err != nil {
		return nil, fmt.Errorf("the API did not say which resources %s has: %w", gv, err)
	}
	return list.APIResources, nil
}

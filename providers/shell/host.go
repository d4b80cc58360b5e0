package shell

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/budget"
	"github.com/kubewright/kubewright/state"
)

// Options are the settings of a Host besides its transport.
type Options struct {
	// Password is sudo's, if known in advance. It is sent only after the host's sudo has
	// asked for it, which costs another round trip, and never to a login as root.
	Password state.Secret
	// SudoPassword asks the operator for the password, if the host's sudo asks for one and
	// Password is not set; nil without an operator. It is called at most once.
	SudoPassword func(ctx context.Context) (state.Secret, error)
	// Direct reports whether the operator's machine may connect to an address, host:port,
	// itself, if the host does not forward connections or is that machine; nil for none.
	Direct func(address string) bool
	// Root is a prefix for all file paths, for tests. /proc and /sys stay the machine's
	// own, as do commands that are not in its /usr/local/bin.
	Root string
	// Budget is the memory for the answers of all hosts of a run; nil gives the host one of
	// its own.
	Budget *budget.Budget
	// Unprivileged runs everything as the login user, for tests.
	Unprivileged bool
}

// Host is a providers.Host on a transport.
type Host struct {
	transport Transport
	name      string
	root      string
	speaker   *speaker

	// turn is held by one batch at a time: the batches of a run wait for each other here,
	// without a limit, and on the host only for a batch of another run.
	turn     chan struct{}
	lockWait time.Duration
	// idle is how long a batch waits for data on the host.
	idle time.Duration
	// pace is how fast the host has to answer an observation.
	pace budget.Pace

	mu  sync.Mutex
	cas map[string]*x509.CertPool // by path, once the host has them
}

var _ providers.Host = (*Host)(nil)

// New makes a host from a transport, which it owns from then on. name identifies the host
// in errors.
func New(name string, t Transport, o Options) *Host {
	return &Host{
		transport: t, name: name, root: o.Root, turn: make(chan struct{}, 1), lockWait: lockWait, idle: idle, pace: budget.Pace{Silence: silence, Total: observeTime},
		speaker: &speaker{
			transport: t, name: name, plain: o.Unprivileged, sudo: &sudoPassword{prompt: o.SudoPassword, secret: o.Password},
			budget: cmp.Or(o.Budget, budget.New()),
		},
	}
}

// observeTries bounds how often an observation is repeated because a file changed while it
// was read.
const observeTries = 3

// Observe implements providers.Host. It is one command on the host, unless a file changes
// during the observation, or sudo asks for a password for the first time.
func (h *Host) Observe(ctx context.Context, q state.Query) (*state.Report, error) {
	start := time.Now()
	report, err := h.look(ctx, q, true)
	if err != nil {
		return nil, err
	}
	report.Elapsed = time.Since(start)
	return report, nil
}

// ReadSecrets implements providers.Host. It fails for a file larger than 1 MiB.
func (h *Host) ReadSecrets(ctx context.Context, paths []string) (map[string]state.Secret, error) {
	report, err := h.look(ctx, state.Query{Secrets: paths}, false)
	if err != nil {
		return nil, err
	}
	if report.Secrets == nil {
		report.Secrets = map[string]state.Secret{}
	}
	return report.Secrets, nil
}

func (h *Host) look(ctx context.Context, q state.Query, facts bool) (*state.Report, error) {
	compiled, err := newQuery(q, h.root, facts)
	if err != nil {
		return nil, fmt.Errorf("cannot observe %s: %w", h.name, err)
	}
	for try := 1; ; try++ {
		report, err := h.lookOnce(ctx, compiled)
		if !errors.Is(err, errMoved) {
			return report, err
		}
		if try == observeTries {
			return nil, &providers.Error{Kind: providers.ErrProtocol, Do: "observe " + h.name, Cause: errMoved}
		}
	}
}

func (h *Host) lookOnce(ctx context.Context, q *query) (*state.Report, error) {
	a, err := h.speaker.run(ctx, script{do: "observe", body: q.script(), limit: q.limit(), caps: q.sectionCaps(), pace: h.pace})
	defer a.release()
	if errors.Is(err, providers.ErrProtocol) {
		return nil, cmp.Or(h.named(q, a), err)
	}
	if err != nil {
		return nil, err
	}
	r, err := parseReport(q, a, a.began)
	if err != nil {
		return nil, fmt.Errorf("cannot observe %s: %w", h.name, err)
	}
	return r.report, nil
}

// named returns an error that names the unrequested content of an answer that was cut off
// for its size; nil if there is none.
func (h *Host) named(q *query, a answer) error {
	_, err := parseReport(q, a, a.began)
	if unasked, is := errors.AsType[*unaskedError](err); is {
		return fmt.Errorf("cannot observe %s: %w", h.name, unasked.error)
	}
	return nil
}

// DialContext implements providers.Host.
func (h *Host) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return h.transport.DialContext(ctx, network, address)
}

// Close implements providers.Host.
func (h *Host) Close() error { return h.transport.Close() }

// httpTimeout bounds one probe, as with kubeadm's probes of the kubelet and the API.
const httpTimeout = 10 * time.Second

// HTTPStatus implements providers.Host.
func (h *Host) HTTPStatus(ctx context.Context, url, ca string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, httpTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, fmt.Errorf("cannot probe %s: %w", url, err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: ca == ""} //nolint:gosec // the caller's word
	if request.URL.Scheme == "https" && ca != "" {
		if config.RootCAs, err = h.trust(ctx, ca); err != nil {
			return 0, err
		}
	}
	client := &http.Client{
		Transport:     &http.Transport{DialContext: h.DialContext, TLSClientConfig: config, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, fmt.Errorf("cannot probe %s: %w", url, err)
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, contentCap))
	_ = response.Body.Close()
	return response.StatusCode, nil
}

// distrust has the CAs reread that operations overwrite.
func (h *Host) distrust(ops []planner.Operation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, op := range ops {
		for _, path := range planner.Overwrites(op) {
			delete(h.cas, path)
		}
	}
}

// trust reads a CA from the host, once it exists.
func (h *Host) trust(ctx context.Context, ca string) (*x509.CertPool, error) {
	h.mu.Lock()
	known := h.cas[ca]
	h.mu.Unlock()
	if known != nil {
		return known, nil
	}
	files, err := h.ReadSecrets(ctx, []string{ca})
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(files[ca].Reveal()) {
		return nil, fmt.Errorf("cannot verify TLS: %s has no certificate in %s", h.name, ca)
	}
	h.mu.Lock()
	if h.cas == nil {
		h.cas = map[string]*x509.CertPool{}
	}
	h.cas[ca] = pool
	h.mu.Unlock()
	return pool, nil
}

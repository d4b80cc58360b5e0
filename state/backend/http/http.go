// Package http keeps a state at a server with the HTTP protocol of Terraform's states, such as
// GitLab: GET reads, POST writes, LOCK and UNLOCK (or other methods at other addresses) carry a
// JSON document that describes the holder, 423 or 409 answer with the current holder's document,
// and a write under a lock passes the lock's ID in the query as ID.
//
// The protocol has no conditional write and no way to query the holder of the lock. So a write
// reads first and compares, while the lock keeps other runs away, and the holder is found by
// trying to lock. An encrypted state is no JSON, so it is sent inside a JSON document.
//
// Source: https://developer.hashicorp.com/terraform/language/backend/http and
// https://docs.gitlab.com/api/terraform_state (as of 2025).
package http

import (
	"bytes"
	"context"
	"crypto/md5" //nolint:gosec // the protocol's check against damage on the way
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	nethttp "net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/backend"
)

// Backend is a state at an HTTP server.
type Backend struct {
	settings backend.Settings
	client   *retryablehttp.Client
	secrets  *state.Redactor

	own backend.Own
	backend.Notes
	// open holds the notes about data that is exposed on the network.
	open []backend.Note
}

var _ backend.Backend = (*Backend)(nil)

// addresses are the settings that hold an address.
var addresses = []string{"address", "lock_address", "unlock_address"}

// requestTime bounds one request including its answer.
const requestTime = 2 * time.Minute

// New returns the backend with these settings, whose defaults are filled in already. It contacts
// nothing.
func New(s backend.Settings) (*Backend, error) {
	if err := s.Need("http", "address"); err != nil {
		return nil, err
	}
	for _, name := range addresses {
		u, err := url.Parse(s[name])
		switch {
		case s[name] == "":
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
			return nil, fmt.Errorf("%s of the backend is no URL as in https://states.example.com/prod", name)
		case u.User != nil:
			return nil, fmt.Errorf("%s of the backend has a user or a password in it, which errors and logs would show: give username, and KUBEWRIGHT_HTTP_PASSWORD in the environment", name)
		}
	}
	client, err := newClient(s)
	if err != nil {
		return nil, err
	}
	secrets := append(backend.BasicSecrets(s["username"], s["password"]), backend.ProxySecrets()...)
	return &Backend{settings: s, client: client, secrets: state.NewRedactor(secrets), open: open(s)}, nil
}

func newClient(s backend.Settings) (*retryablehttp.Client, error) {
	c := retryablehttp.NewClient()
	c.Logger = nil
	c.RequestLogHook = func(_ retryablehttp.Logger, r *nethttp.Request, number int) {
		backend.Tried(r.Context(), backend.Try{Method: r.Method, Number: number})
	}
	c.ErrorHandler = retryablehttp.PassthroughErrorHandler
	c.HTTPClient.Timeout, c.HTTPClient.CheckRedirect = requestTime, follow
	var err error
	var least, most int
	for name, into := range map[string]*int{"retry_max": &c.RetryMax, "retry_wait_min": &least, "retry_wait_max": &most} {
		if *into, err = s.Int(name); err != nil {
			return nil, err
		}
	}
	c.RetryWaitMin, c.RetryWaitMax = time.Duration(least)*time.Second, time.Duration(most)*time.Second
	config := &tls.Config{InsecureSkipVerify: s.Bool("skip_cert_verification"), MinVersion: tls.VersionTLS12} //nolint:gosec // the user's choice, documented as what it is
	if pem := s["ca_certificate_pem"]; pem != "" {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM([]byte(pem)) {
			return nil, errors.New("ca_certificate_pem of the backend holds no certificate")
		}
	}
	if pem := s["client_certificate_pem"]; pem != "" {
		pair, err := tls.X509KeyPair([]byte(pem), []byte(s["client_private_key_pem"]))
		if err != nil {
			return nil, fmt.Errorf("client_certificate_pem and client_private_key_pem of the backend do not fit: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	transport := nethttp.DefaultTransport.(*nethttp.Transport).Clone()
	transport.TLSClientConfig = config
	transport.TLSHandshakeTimeout = 0 // a busy server may need longer than the default; requestTime bounds it
	c.HTTPClient.Transport = transport
	return c, nil
}

// String returns the state's address.
func (b *Backend) String() string { return b.settings["address"] }

// request is one request to the server.
type request struct {
	// op is the operation that fails when the request fails.
	op, method string
	// setting is the setting that holds the address.
	setting string
	// id is the ID of the lock under which the request is made, or empty.
	id   string
	body []byte
}

// answer is the server's response.
type answer struct {
	status int
	header nethttp.Header
	body   []byte
	// from is the address that a redirect led to; nil when there was none.
	from *url.URL
}

// do sends one request, with the retries of the settings.
func (b *Backend) do(ctx context.Context, ask request) (*answer, error) {
	fail := func(err error) error {
		return &backend.Error{Op: ask.op, Place: b.String(), Err: backend.Hide(bare(err), b.secrets), Remedy: "see that the server can be reached from here, and run the same command again"}
	}
	r, err := b.prepare(ctx, ask)
	if err != nil {
		return nil, fail(err)
	}
	b.Say(b.open...)
	resp, err := b.client.Do(r)
	if err != nil {
		return nil, fail(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		return nil, b.redirected(ask, resp)
	}
	text, err := backend.ReadAll(resp.Body, resp.ContentLength)
	if backend.IsLarge(err) {
		return nil, backend.TooLarge(ask.op, b.String())
	}
	if err != nil {
		return nil, fail(err)
	}
	a := &answer{status: resp.StatusCode, header: resp.Header, body: text}
	if resp.Request.Response != nil {
		a.from = resp.Request.URL
	}
	return a, nil
}

func (b *Backend) prepare(ctx context.Context, ask request) (*retryablehttp.Request, error) {
	address, err := withID(b.settings[ask.setting], ask.id)
	if err != nil {
		return nil, err
	}
	var payload any
	if ask.body != nil {
		payload = ask.body
	}
	r, err := retryablehttp.NewRequestWithContext(ctx, ask.method, address, payload)
	if err != nil {
		return nil, err
	}
	if ask.body != nil {
		sum := md5.Sum(ask.body) //nolint:gosec // as above
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Content-MD5", base64.StdEncoding.EncodeToString(sum[:]))
	}
	if user := b.settings["username"]; user != "" || b.settings["password"] != "" {
		r.SetBasicAuth(user, b.settings["password"])
	}
	return r, nil
}

// bare drops method and URL, which the surrounding error already names.
func bare(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// Limits of the server's error text: how much is read, and how much is shown.
const (
	maxReason   = 64 << 10
	shownReason = 300
)

// refuse returns the error for an answer outside the protocol. The answer may echo the request,
// so secrets are redacted before it is truncated.
func (b *Backend) refuse(op string, a *answer) error {
	e := &backend.Error{Op: op, Place: b.String(), Problem: fmt.Sprintf("the server answers %d %s", a.status, nethttp.StatusText(a.status))}
	text := strings.TrimSpace(b.secrets.Text(string(a.body[:min(len(a.body), maxReason)])))
	if text != "" && !strings.HasPrefix(text, "<") {
		e.Problem += " (" + strings.Join(strings.Fields(text[:min(len(text), shownReason)]), " ") + ")"
	}
	switch a.status {
	case nethttp.StatusUnauthorized, nethttp.StatusForbidden:
		e.Kind = backend.ErrRefused
		e.Remedy = "give username, and the password in the environment as KUBEWRIGHT_HTTP_PASSWORD, of a user who may do this"
	case nethttp.StatusNotFound:
		e.Remedy = "see whether the address is right"
	case nethttp.StatusMethodNotAllowed, nethttp.StatusNotImplemented:
		e.Remedy = "see which methods this server wants: update_method, lock_method and unlock_method of the backend"
	case nethttp.StatusRequestEntityTooLarge:
		e.Kind, e.Remedy = backend.ErrTooLarge, "raise the server's limit for a request"
	default:
		e.Remedy = "look into the server's log"
	}
	return e
}

// Read implements backend.Backend.
func (b *Backend) Read(ctx context.Context) (*backend.Object, error) {
	const op = "read state"
	a, err := b.get(ctx, op)
	if err != nil {
		return nil, err
	}
	switch {
	case a.status == nethttp.StatusNotFound, a.status == nethttp.StatusNoContent, a.status == nethttp.StatusOK && len(a.body) == 0:
		if a.from != nil {
			return nil, b.moved(op, "and there is no state, which says nothing about "+b.String(), a.from)
		}
		return nil, nil
	case a.status != nethttp.StatusOK && a.from != nil:
		return nil, b.moved(op, fmt.Sprintf("and that answers %d %s", a.status, nethttp.StatusText(a.status)), a.from)
	case a.status != nethttp.StatusOK:
		return nil, b.refuse(op, a)
	}
	sum := md5.Sum(a.body) //nolint:gosec // as above
	if want := a.header.Get("Content-MD5"); want != "" && want != base64.StdEncoding.EncodeToString(sum[:]) {
		return nil, &backend.Error{Op: op, Place: b.String(), Problem: "the state does not fit its Content-MD5, so it was damaged on the way", Remedy: "run the same command again"}
	}
	if bytes.HasPrefix(bytes.TrimSpace(a.body), []byte("<")) {
		return nil, &backend.Error{
			Op: op, Place: b.String(), Problem: "the server answers with a page for people (it begins with <), and not with a state",
			Remedy: "see whether the address is right, and whether a login or a proxy answers in place of the server",
		}
	}
	return &backend.Object{Data: unwrap(a.body), Version: mark(a.body)}, nil
}

// get requests the state.
func (b *Backend) get(ctx context.Context, op string) (*answer, error) {
	a, err := b.do(ctx, request{op: op, method: nethttp.MethodGet, setting: "address"})
	if err == nil && a.from != nil && strings.EqualFold(a.from.Scheme, "https") && !strings.HasPrefix(strings.ToLower(b.String()), "https:") {
		b.Say(backend.Note{
			Title: "Backend answers over https",
			Text:  fmt.Sprintf("The server redirects %s to %s, which is used to read the state. A write is not redirected. Give the backend address = %q.", b.String(), b.shown(a.from), b.shown(a.from)),
		})
	}
	return a, err
}

// direct fails when reads of the state are redirected: a write would be redirected too, and the
// run has to find that out before anything depends on it.
func (b *Backend) direct(ctx context.Context, op string) error {
	a, err := b.get(ctx, op)
	if err == nil && a.from != nil {
		err = b.moved(op, "and a write is not redirected", a.from)
	}
	return err
}

func mark(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// Write implements backend.Backend.
func (b *Backend) Write(ctx context.Context, old *backend.Object, next backend.Object) error {
	const op = "write state"
	now, err := b.Read(ctx)
	if err != nil {
		return err
	}
	if (now == nil) != (old == nil) || now != nil && now.Version != old.Version {
		return backend.Moved(b.String())
	}
	held := b.own.ID()
	body, err := wrap(next.Data, next.Serial)
	if err != nil {
		return err
	}
	if len(body) > backend.MaxState { // it could not be read again
		return backend.TooLarge(op, b.String())
	}
	a, err := b.do(ctx, request{op, b.settings["update_method"], "address", held, body})
	if err != nil {
		return b.unlessKept(ctx, next, err)
	}
	switch a.status {
	case nethttp.StatusOK, nethttp.StatusCreated, nethttp.StatusAccepted, nethttp.StatusNoContent:
		return nil
	case nethttp.StatusLocked, nethttp.StatusConflict:
		holder := readHolder(a.body)
		if held == "" {
			return b.locked(holder)
		}
		return backend.Lost(b.String(), holder)
	}
	return b.unlessKept(ctx, next, b.refuse(op, a))
}

// unlessKept returns the failure of a write, unless the written state is there: the answer may
// have been lost and the repeated request refused, as by GitLab, which accepts each serial once.
func (b *Backend) unlessKept(ctx context.Context, next backend.Object, failure error) error {
	if now, err := b.Read(ctx); err == nil && now != nil && bytes.Equal(now.Data, next.Data) {
		return nil
	}
	return failure
}

// withID adds the lock under which a write is made to the address.
func withID(address, id string) (string, error) {
	if id == "" {
		return address, nil
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	q := u.Query()
	q.Set("ID", id)
	u.RawQuery = q.Encode()
	return u.String(), nil
}

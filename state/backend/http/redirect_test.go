package http_test

import (
	"fmt"
	nethttp "net/http"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/backend/backendtest"
	"github.com/kubewright/kubewright/state/backend/http"
	"github.com/kubewright/kubewright/state/backend/http/httptestserver"
)

// statuses are the HTTP statuses of redirects.
var statuses = []int{
	nethttp.StatusMovedPermanently, nethttp.StatusFound, nethttp.StatusSeeOther, nethttp.StatusTemporaryRedirect, nethttp.StatusPermanentRedirect,
}

// redirecting is a correct state server, a front of it that redirects, and the target of the
// redirects.
type redirecting struct {
	state         *httptestserver.Server
	front, target *httptestserver.Front
	// to is the address of the redirects, without the path.
	to string
	b  *http.Backend
}

// targets are the places that a front redirects to, from http or https.
var targets = map[string]struct {
	encrypted bool
	to        func(t *testing.T, r *redirecting)
}{
	"the same origin": {false, func(_ *testing.T, r *redirecting) { r.target, r.to = r.front, r.front.URL+"/moved" }},
	"another port":    {false, func(t *testing.T, r *redirecting) { r.elsewhere(t, false) }},
	"another host": {false, func(t *testing.T, r *redirecting) {
		r.elsewhere(t, false)
		r.to = strings.Replace(r.to, "127.0.0.1", "localhost", 1)
	}},
	"another port, https": {true, func(t *testing.T, r *redirecting) { r.elsewhere(t, true) }},
	"https to http":       {true, func(t *testing.T, r *redirecting) { r.elsewhere(t, false) }},
	"http to https":       {false, func(t *testing.T, r *redirecting) { r.elsewhere(t, true) }},
	"http to https of another host": {false, func(t *testing.T, r *redirecting) {
		r.elsewhere(t, true)
		r.to = strings.Replace(r.to, "127.0.0.1", "localhost", 1)
	}},
}

func (r *redirecting) elsewhere(t *testing.T, encrypted bool) {
	r.target = httptestserver.NewFront(t, encrypted, r.state)
	r.to = r.target.URL
}

// redirected returns a backend that reaches its server through a front, with locks.
func redirected(t *testing.T, target string, secret bool) *redirecting {
	t.Helper()
	r := &redirecting{state: httptestserver.New(t)}
	if !secret {
		r.state.User, r.state.Password = "", ""
	}
	r.front = httptestserver.NewFront(t, targets[target].encrypted, r.state)
	targets[target].to(t, r)
	r.b = open(t, settings(r.state, backend.Settings{
		"address": r.front.URL + r.state.Path, "lock_address": r.front.URL + r.state.Path, "skip_cert_verification": "true", "retry_max": "0",
	}))
	return r
}

// reached returns the requests that the target received through a redirect.
func (r *redirecting) reached() []string {
	return slices.DeleteFunc(r.target.Seen(), func(seen string) bool {
		return r.target == r.front && !strings.Contains(seen, " /moved")
	})
}

// TestRedirectedWriteIsAnError checks that a redirected write, lock or unlock is an error that names the
// new address, for every status and target, and reaches no other server.
func TestRedirectedWriteIsAnError(t *testing.T) {
	t.Parallel()
	for target := range targets {
		for _, status := range statuses {
			t.Run(fmt.Sprintf("%s, %d", target, status), func(t *testing.T) {
				t.Parallel()
				r := redirected(t, target, true)
				ctx := t.Context()
				old := backend.Object{Data: []byte(`{"serial":1}`), Serial: 1}
				if err := r.b.Write(ctx, nil, old); err != nil {
					t.Fatal(err)
				}
				read, err := r.b.Read(ctx)
				if err != nil {
					t.Fatal(err)
				}
				want := func(err error, method, setting string) {
					t.Helper()
					if err == nil {
						t.Errorf("a redirected %s succeeds", method)
						return
					}
					address := r.to + r.state.Path
					for _, text := range []string{"the server redirects " + method + " ", " to " + address + " (" + fmt.Sprint(status), fmt.Sprintf("%s = %q", setting, address), "KUBEWRIGHT_HTTP_" + strings.ToUpper(setting)} {
						if !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), r.state.Password) {
							t.Errorf("%s: %v, want %q", method, err, text)
						}
					}
				}
				r.front.Redirect(status, r.to, "LOCK")
				_, err = r.b.Lock(ctx, backendtest.Info("r1"))
				want(err, "LOCK", "lock_address")
				r.front.Redirect(status, r.to, "POST")
				want(r.b.Write(ctx, read, backend.Object{Data: []byte(`{"serial":2}`), Serial: 2}), "POST", "address")
				r.front.Redirect(0, "")
				held, err := r.b.Lock(ctx, backendtest.Info("r2"))
				if err != nil {
					t.Fatal(err)
				}
				r.front.Redirect(status, r.to, "UNLOCK")
				want(held.Release(ctx), "UNLOCK", "lock_address")
				if got := r.reached(); len(got) > 0 || string(r.state.State()) != string(old.Data) || r.state.Holder() != "r2" {
					t.Errorf("the address got %q, %q holds the lock, the state is %s", got, r.state.Holder(), r.state.State())
				}
			})
		}
	}
}

// TestRedirectedReadStaysWithinOrigin checks that a read is followed within its origin, and to https on its host,
// which is reported. No other server gets the request or credentials, and an answer of "not
// found" behind a redirect is not taken for a missing state.
func TestRedirectedReadStaysWithinOrigin(t *testing.T) {
	t.Parallel()
	for target := range targets {
		for _, status := range statuses {
			t.Run(fmt.Sprintf("%s, %d", target, status), func(t *testing.T) {
				t.Parallel()
				secret := target != "http to https" // on another port, which gets no credentials
				r := redirected(t, target, secret)
				var notes []backend.Note
				r.b.OnNote(func(n backend.Note) { notes = append(notes, n) })
				r.front.Redirect(status, r.to)
				if o, err := r.b.Read(t.Context()); o != nil || err == nil || !strings.Contains(err.Error(), r.to+r.state.Path) {
					t.Errorf("a missing state: %+v, %v", o, err)
				}
				r.state.Put([]byte(`{"serial":1}`))
				o, err := r.b.Read(t.Context())
				if target == "the same origin" || target == "http to https" {
					if err != nil || o == nil || string(o.Data) != `{"serial":1}` {
						t.Errorf("%+v, %v", o, err)
					}
				} else if got := r.reached(); err == nil || !strings.Contains(err.Error(), "which is another server") || len(got) > 0 {
					t.Errorf("%+v, %v; the address got %q", o, err, got)
				}
				if upgraded := target == "http to https"; upgraded != (len(notes) == 1) || upgraded && !strings.Contains(notes[0].Text, fmt.Sprintf("address = %q", r.to+r.state.Path)) {
					t.Errorf("notes: %+v", notes)
				}
				// A run that would write fails before anything depends on it.
				if _, err := r.b.Lock(t.Context(), backendtest.Info("r1")); err == nil || !strings.Contains(err.Error(), r.to+r.state.Path) || r.state.Holder() != "" {
					t.Errorf("lock: %v", err)
				}
			})
		}
	}
}

// TestRedirectToOtherPortGetsNoCredentials checks that another port of the same host gets no credentials.
func TestRedirectToOtherPortGetsNoCredentials(t *testing.T) {
	t.Parallel()
	r := redirected(t, "http to https", true)
	r.state.Put([]byte(`{"serial":1}`))
	r.front.Redirect(nethttp.StatusMovedPermanently, r.to)
	o, err := r.b.Read(t.Context())
	if o != nil || err == nil || !strings.Contains(err.Error(), "and that answers 401 Unauthorized; nothing was written: if that is the right server, give the backend address = ") {
		t.Errorf("%+v, %v", o, err)
	}
	if got := r.reached(); len(got) != 1 || strings.Contains(got[0], "credentials") {
		t.Errorf("the other port got %q", got)
	}
}

// TestRedirectWithoutTargetIsAnError checks a redirect without a target, and a redirect loop.
func TestRedirectWithoutTargetIsAnError(t *testing.T) {
	t.Parallel()
	r := redirected(t, "the same origin", true)
	r.front.Redirect(nethttp.StatusFound, r.front.URL)
	if _, err := r.b.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "and has done so 5 times") {
		t.Errorf("in a circle: %v", err)
	}
	s := httptestserver.New(t)
	s.Fail(nethttp.StatusFound)
	if _, err := open(t, settings(s, nil)).Read(t.Context()); err == nil || !strings.Contains(err.Error(), "the server answers 302 Found to GET at the backend's address, and does not say where to go; see whether the address is right") {
		t.Errorf("nowhere: %v", err)
	}
	s = httptestserver.New(t)
	front := httptestserver.NewFront(t, false, s)
	front.Redirect(nethttp.StatusFound, "https://ann:top-secret@login.example.com/?token=top-secret&next=")
	b := open(t, settings(s, backend.Settings{"address": front.URL + s.Path}))
	if _, err := b.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "https://login.example.com/ (302 Found)") || strings.Contains(err.Error(), "secret") {
		t.Errorf("a login with secrets in its address: %v", err)
	}
}

// TestServerWithoutLockingIsDetected checks that a server that accepts LOCK without locking is detected.
func TestServerWithoutLockingIsDetected(t *testing.T) {
	t.Parallel()
	s := httptestserver.New(t)
	s.Lockless()
	l, err := open(t, settings(s, nil)).Lock(t.Context(), backendtest.Info("r1"))
	if want := "the server gives the lock to a second run as well (LOCK " + s.URL + "), so that nothing would keep two runs apart; see whether lock_address and lock_method are those of the server's locks; for a server that has none leave lock_address out"; l != nil || err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, %v", l, err)
	}
}

package s3_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/backend/backendtest"
	"github.com/kubewright/kubewright/state/backend/s3"
)

// newServer returns a server with the bucket "states", whose handler a test may wrap.
func newServer(t *testing.T, wrap func(http.Handler) http.Handler) *httptest.Server {
	t.Helper()
	memory := s3mem.New()
	if err := memory.CreateBucket("states"); err != nil {
		t.Fatal(err)
	}
	handler := gofakes3.New(memory).Server()
	server := httptest.NewServer(wrap(handler))
	t.Cleanup(server.Close)
	return server
}

// signed admits only requests that are signed with the right key ID; the server itself does not
// check signatures.
func signed(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=AKTEST/") {
			w.Header().Set("Content-Type", "application/xml")
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`<?xml version="1.0"?><Error><Code>InvalidAccessKeyId</Code><Message>unknown key</Message></Error>`))
			return
		}
		h.ServeHTTP(w, r)
	})
}

func open(t *testing.T, server *httptest.Server, more backend.Settings) *s3.Backend {
	t.Helper()
	s := backend.Settings{
		"bucket": "states", "key": "team/prod.json", "region": "eu-central-1", "endpoint": server.URL, "use_path_style": "true",
		"access_key": "AKTEST", "secret_key": "top-secret",
	}
	for name, value := range more {
		s[name] = value
	}
	b, err := s3.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestConformance(t *testing.T) {
	t.Parallel()
	backendtest.Test(t, backendtest.Options{New: func(t *testing.T) func() backend.Backend {
		server := newServer(t, signed)
		return func() backend.Backend { return open(t, server, nil) }
	}})
}

// TestServerIgnoringConditionsGivesNoLock checks that a server that ignores conditions gives no lock, because two
// runs would not be kept apart.
func TestServerIgnoringConditionsGivesNoLock(t *testing.T) {
	t.Parallel()
	server := newServer(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Header.Del("If-None-Match")
			r.Header.Del("If-Match")
			h.ServeHTTP(w, r)
		})
	})
	if _, err := open(t, server, nil).Lock(t.Context(), backendtest.Info("r1")); err == nil || !strings.Contains(err.Error(), "the server ignores the condition of a write (If-None-Match), so that nothing would keep two runs apart; use a server that has conditional writes, or another backend") {
		t.Errorf("error = %v", err)
	}
}

// TestServerRejectingConditionsIsNotUsed checks that a server that rejects conditional writes is not used.
func TestServerRejectingConditionsIsNotUsed(t *testing.T) {
	t.Parallel()
	server := newServer(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("If-None-Match") == "" {
				h.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/xml")
			w.WriteHeader(http.StatusNotImplemented)
			_, _ = w.Write([]byte(`<?xml version="1.0"?><Error><Code>NotImplemented</Code><Message>a header that you provided is not implemented</Message></Error>`))
		})
	})
	err := open(t, server, nil).Write(t.Context(), nil, backend.Object{Data: []byte("x")})
	if err == nil || !strings.Contains(err.Error(), "this server has no conditional writes, without which two runs could overwrite each other: use one that has, or another backend") {
		t.Errorf("error = %v", err)
	}
}

// unlisted answers as AWS does to a user who may get objects but not list the bucket: it does not
// say that an object is missing.
func unlisted(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, r)
		if answer.Code == http.StatusNotFound {
			w.Header().Set("Content-Type", "application/xml")
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>no s3:ListBucket</Message></Error>`))
			return
		}
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	})
}

// TestMissingListPermissionIsNamed checks that an object is not taken for missing if the server does not say
// whether it exists, and that the error names the missing permission.
func TestMissingListPermissionIsNamed(t *testing.T) {
	t.Parallel()
	b := open(t, newServer(t, unlisted), nil)
	_, err := b.Read(t.Context())
	_, again := b.Lock(t.Context(), backendtest.Info("r1"))
	for _, err := range []error{err, again} {
		if !errors.Is(err, backend.ErrRefused) || !strings.Contains(err.Error(), "and list the bucket (s3:ListBucket), without which AWS refuses to say that an object is not there yet") {
			t.Errorf("error = %v", err)
		}
	}
}

// TestRefusalsNameRemedy checks that each refusal says what to do, and contains no secret key.
func TestRefusalsNameRemedy(t *testing.T) {
	t.Parallel()
	server := newServer(t, signed)
	for name, c := range map[string]struct {
		more backend.Settings
		kind error
		want string
	}{
		"an unknown key": {backend.Settings{"access_key": "AKOTHER"}, backend.ErrRefused, "give credentials that may get and put this object and KEY.lock, and list the bucket (s3:ListBucket), without which AWS refuses to say that an object is not there yet: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile of ~/.aws/credentials"},
		"no bucket":      {backend.Settings{"bucket": "nowhere"}, nil, "make the bucket, with versions if the server has them"},
	} {
		err := open(t, server, c.more).Write(t.Context(), nil, backend.Object{Data: []byte("x")})
		if err == nil || !strings.Contains(err.Error(), c.want) || c.kind != nil && !errors.Is(err, c.kind) || strings.Contains(err.Error(), "top-secret") {
			t.Errorf("%s: error = %v, want one with %q", name, err, c.want)
		}
	}
	for want, s := range map[string]backend.Settings{
		`the backend "s3" needs key: write it into the backend block`:                                                                                                   {"bucket": "states"},
		"endpoint of the backend is no URL as in https://s3.example.com:9000":                                                                                           {"bucket": "states", "key": "k", "endpoint": "s3.example.com"},
		"endpoint of the backend has a user or a password in it, which errors and logs would show: give AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment": {"bucket": "states", "key": "k", "endpoint": "https://ann:top-secret@s3.example.com"},
		`the settings of the backend "s3" cannot be used: `:                                                                                                             {"bucket": "states", "key": "k", "endpoint": "https://s3.example.com-"},
	} {
		if _, err := s3.New(s); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "top-secret") {
			t.Errorf("error = %v, want one with %q", err, want)
		}
	}
}

// TestRedirectsAreNotFollowed checks that no redirect of a write or a read is followed, and that a redirected
// request counts neither as done nor as "not found".
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 303, 307, 308} {
		reached := make(chan string, 100)
		target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { reached <- r.Method }))
		t.Cleanup(target.Close)
		server := newServer(t, func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, target.URL+r.URL.Path, status)
			})
		})
		b := open(t, server, nil)
		o, readErr := b.Read(t.Context())
		l, lockErr := b.Lock(t.Context(), backendtest.Info("r1"))
		for what, err := range map[string]error{"read": readErr, "lock": lockErr, "write": b.Write(t.Context(), nil, backend.Object{Data: []byte("x")})} {
			if err == nil || !strings.Contains(err.Error(), "the server redirects, which is not followed: see whether endpoint, region and use_path_style are right") {
				t.Errorf("%d, %s: error = %v", status, what, err)
			}
		}
		if o != nil || l != nil || len(reached) > 0 {
			t.Errorf("%d: %v, %v, %d requests were redirected", status, o, l, len(reached))
		}
	}
}

// TestServerStoringNothingGivesNoLock checks that a server that answers a write without storing anything gives no
// lock.
func TestServerStoringNothingGivesNoLock(t *testing.T) {
	t.Parallel()
	puts := 0
	server := newServer(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPut {
				h.ServeHTTP(w, r)
				return
			}
			puts++
			if puts > 1 { // as if the first had stored something
				w.Header().Set("Content-Type", "application/xml")
				w.WriteHeader(http.StatusPreconditionFailed)
				_, _ = w.Write([]byte(`<?xml version="1.0"?><Error><Code>PreconditionFailed</Code></Error>`))
				return
			}
			w.Header().Set("ETag", `"0"`)
		})
	})
	l, err := open(t, server, nil).Lock(t.Context(), backendtest.Info("r1"))
	if l != nil || err == nil || !strings.Contains(err.Error(), "the server has accepted team/prod.json.lock, and does not hold it, so that nothing would keep two runs apart; see whether endpoint and bucket are right, and whether a cache stands before the server") {
		t.Errorf("%v, %v", l, err)
	}
}

// TestRegionCannotLeadToOtherServer checks that the region, which is part of the server's name, cannot lead to another
// server.
func TestRegionCannotLeadToOtherServer(t *testing.T) {
	t.Parallel()
	for _, region := range []string{"evil.example.net#", "evil.example.net?", "evil.example.net/", "x@evil.example.net", "eu central"} {
		if _, err := s3.New(backend.Settings{"bucket": "states", "key": "k", "region": region}); err == nil || !strings.Contains(err.Error(), "region of the backend is no region as in eu-central-1") {
			t.Errorf("%q: error = %v", region, err)
		}
	}
}

// TestUnencryptedServerIsReported checks that a server without encryption is reported.
func TestUnencryptedServerIsReported(t *testing.T) {
	t.Parallel()
	for endpoint, want := range map[string]string{
		"http://s3.invalid":      "State is sent without encryption: The endpoint of the backend is http://s3.invalid: anyone on the network path can read the state",
		"https://s3.invalid":     "",
		"http://127.0.0.1:1":     "",
		"http://minio.localhost": "",
	} {
		b, err := s3.New(backend.Settings{"bucket": "states", "key": "k", "endpoint": endpoint, "use_path_style": "true", "access_key": "AKTEST", "secret_key": "x"})
		if err != nil {
			t.Fatal(err)
		}
		said := ""
		b.OnNote(func(n backend.Note) { said += n.Title + ": " + n.Text })
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, _ = b.Read(ctx)
		if (said == "") != (want == "") || !strings.HasPrefix(said, want) {
			t.Errorf("%s: %q", endpoint, said)
		}
	}
}

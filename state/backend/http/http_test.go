package http_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/backend/backendtest"
	"github.com/kubewright/kubewright/state/backend/http"
	"github.com/kubewright/kubewright/state/backend/http/httptestserver"
)

// settings returns the settings for a server, overridden by more.
func settings(s *httptestserver.Server, more backend.Settings) backend.Settings {
	out := backend.Settings{
		"address": s.URL, "lock_address": s.URL, "username": s.User, "password": s.Password,
		"update_method": "POST", "lock_method": "LOCK", "unlock_method": "UNLOCK", "retry_max": "2", "retry_wait_min": "0", "retry_wait_max": "0",
	}
	for name, value := range more {
		out[name] = value
	}
	return out
}

func open(t *testing.T, s backend.Settings) *http.Backend {
	t.Helper()
	b, err := http.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestConformance(t *testing.T) {
	t.Parallel()
	for name, gitlab := range map[string]bool{"its own verbs": false, "as GitLab has it": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			backendtest.Test(t, backendtest.Options{Unconditional: true, New: func(t *testing.T) func() backend.Backend {
				s := httptestserver.New(t)
				s.GitLab = gitlab
				more := backend.Settings{}
				if gitlab {
					more = backend.Settings{"lock_address": s.URL + "/lock", "unlock_address": s.URL + "/lock", "lock_method": "POST", "unlock_method": "DELETE"}
				}
				return func() backend.Backend { return open(t, settings(s, more)) }
			}})
		})
	}
}

// TestRequestsAreRetried checks that requests are repeated after a lost or a temporary answer, and that a
// lock whose answer was lost belongs to this run.
func TestRequestsAreRetried(t *testing.T) {
	t.Parallel()
	s := httptestserver.New(t)
	b := open(t, settings(s, nil))
	s.Fail(503, 500)
	if err := b.Write(t.Context(), nil, backend.Object{Data: []byte("one")}); err != nil {
		t.Errorf("two failures: %v", err)
	}
	s.Lose("LOCK", 1)
	if _, err := b.Lock(t.Context(), backendtest.Info("r1")); err != nil {
		t.Errorf("a lost answer: %v", err)
	}
	s.Fail(503, 503, 503)
	if _, err := b.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "the server answers 503 Service Unavailable; look into the server's log") {
		t.Errorf("three failures: %v", err)
	}
}

// TestWriteWithLostAnswerSucceeds checks that a write whose answer was lost has succeeded. The server may
// refuse the repeated write, as GitLab does, which accepts each serial once.
func TestWriteWithLostAnswerSucceeds(t *testing.T) {
	t.Parallel()
	for name, gitlab := range map[string]bool{"any server": false, "GitLab": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptestserver.New(t)
			s.GitLab = gitlab
			b := open(t, settings(s, backend.Settings{"lock_address": ""}))
			for i, lost := range []int{1, 3} { // the first answer, and all of them
				old, err := b.Read(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				serial := int64(i + 1)
				next := backend.Object{Data: fmt.Appendf(nil, `{"serial":%d}`, serial), Serial: serial}
				s.Lose("POST", lost)
				if err := b.Write(t.Context(), old, next); err != nil || string(s.State()) != string(next.Data) {
					t.Errorf("%d answers were lost: %v, kept is %q", lost, err, s.State())
				}
			}
			if !gitlab {
				return
			}
			old, err := b.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			other := backend.Object{Data: []byte(`{"serial":2,"other":true}`), Serial: 2}
			if err := b.Write(t.Context(), old, other); err == nil || !strings.Contains(err.Error(), "the server answers 422 Unprocessable Entity (Validation failed: Version has already been taken); look into the server's log") {
				t.Errorf("another state of the same serial: error = %v", err)
			}
		})
	}
}

// TestSealedStateIsWrapped checks that a state that a server cannot parse is wrapped and read back unchanged,
// that a parsable one is sent unchanged, and that a stored state that predates wrapping is read.
func TestSealedStateIsWrapped(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		`{"serial":7,"nodes":[]}`:           `{"serial":7,"nodes":[]}`,
		"-----BEGIN AGE ENCRYPTED FILE----": `{"serial":7,"sealed":"LS0tLS1CRUdJTiBBR0UgRU5DUllQVEVEIEZJTEUtLS0t"}`,
		"\xff\x00":                          `{"serial":7,"sealed":"/wA="}`,
		`{"nodes":[]}`:                      `{"serial":7,"sealed":"eyJub2RlcyI6W119"}`,
		`{"serial":7.5}`:                    `{"serial":7,"sealed":"eyJzZXJpYWwiOjcuNX0="}`,
		`{"serial":7,"sealed":"eA=="}`:      `{"serial":7,"sealed":"eyJzZXJpYWwiOjcsInNlYWxlZCI6ImVBPT0ifQ=="}`,
	} {
		s := httptestserver.New(t)
		s.GitLab = true
		b := open(t, settings(s, backend.Settings{"lock_address": ""}))
		if err := b.Write(t.Context(), nil, backend.Object{Data: []byte(data), Lineage: "l1", Serial: 7}); err != nil {
			t.Errorf("%q: %v", data, err)
		}
		if got := string(s.State()); got != want {
			t.Errorf("%q is sent as %s, want %s", data, got, want)
		}
		if o, err := b.Read(t.Context()); err != nil || string(o.Data) != data {
			t.Errorf("%q is read back as %+v, %v", data, o, err)
		}
	}
	const old = "-----BEGIN AGE ENCRYPTED FILE----"
	s := httptestserver.New(t)
	s.Put([]byte(old))
	if o, err := open(t, settings(s, nil)).Read(t.Context()); err != nil || string(o.Data) != old {
		t.Errorf("an unwrapped one is read as %+v, %v", o, err)
	}
}

// TestHolderLeavesNoLock checks that querying the holder leaves no lock behind, even if an answer
// is lost or the caller gives up.
func TestHolderLeavesNoLock(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lose, cancel string
		retries      string
		wantErr      bool
	}{
		"the lock's answer is lost":             {"LOCK", "", "0", true},
		"the lock is repeated":                  {"LOCK", "", "2", false},
		"the unlocking's answer is lost":        {"UNLOCK", "", "0", true},
		"interrupted before it is given back":   {"", "UNLOCK", "0", true},
		"interrupted before it is taken at all": {"", "LOCK", "0", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptestserver.New(t)
			s.Lose(c.lose, 1)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ctx = backend.OnTry(ctx, func(try backend.Try) {
				if try.Method == c.cancel {
					cancel()
				}
			})
			holder, err := open(t, settings(s, backend.Settings{"retry_max": c.retries})).Holder(ctx)
			if holder != nil || (err != nil) != c.wantErr {
				t.Errorf("%+v, %v", holder, err)
			}
			if id := s.Holder(); id != "" {
				t.Errorf("%s is left", id)
			}
		})
	}
}

// TestRefusalsNameRemedy checks that each refusal says what is wrong and what to do, and contains no
// password.
func TestRefusalsNameRemedy(t *testing.T) {
	t.Parallel()
	s := httptestserver.New(t)
	plain := httptest.NewServer(nil)
	plain.Close()
	for name, c := range map[string]struct {
		more backend.Settings
		kind error
		want string
	}{
		"wrong password": {backend.Settings{"password": "wrong-secret"}, backend.ErrRefused, "the server answers 401 Unauthorized; give username, and the password in the environment as KUBEWRIGHT_HTTP_PASSWORD"},
		"wrong method":   {backend.Settings{"update_method": "PATCH"}, nil, "see which methods this server wants: update_method, lock_method and unlock_method of the backend"},
		"wrong address":  {backend.Settings{"address": s.URL + "/elsewhere"}, nil, "the server answers 404 Not Found; see whether the address is right"},
		"unreachable":    {backend.Settings{"address": plain.URL + "/s", "retry_max": "0"}, nil, "can be reached"},
	} {
		err := open(t, settings(s, c.more)).Write(t.Context(), nil, backend.Object{Data: []byte("x")})
		if err == nil || !strings.Contains(err.Error(), c.want) || c.kind != nil && !errors.Is(err, c.kind) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: error = %v, want one with %q", name, err, c.want)
		}
	}
	s.Fail(404, 413) // no state yet, and none of this size
	if err := open(t, settings(s, nil)).Write(t.Context(), nil, backend.Object{Data: []byte("x")}); !errors.Is(err, backend.ErrTooLarge) || !strings.Contains(err.Error(), "raise the server's limit for a request") {
		t.Errorf("too large: error = %v", err)
	}
	for _, c := range []struct{ name, value, want string }{
		{"address", "", `the backend "http" needs address: write it into the backend block, or give it with -backend-config=address=VALUE`},
		{"address", "states.example.com", "address of the backend is no URL as in https://states.example.com/prod"},
		{"address", "https://ann:secret@states.example.com/x", "address of the backend has a user or a password in it, which errors and logs would show: give username, and KUBEWRIGHT_HTTP_PASSWORD in the environment"},
		{"retry_max", "often", "retry_max = often: it is a whole number"},
		{"ca_certificate_pem", "no secret", "ca_certificate_pem of the backend holds no certificate"},
		{"client_certificate_pem", "no secret", "client_certificate_pem and client_private_key_pem of the backend do not fit: "},
	} {
		if _, err := http.New(settings(s, backend.Settings{c.name: c.value})); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s %q: error = %v, want one with %q", c.name, c.value, err, c.want)
		}
	}
}

// TestLoginPageIsNoDamagedState checks that a login page that is answered with 200 is not reported as a damaged state.
func TestLoginPageIsNoDamagedState(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		_, _ = w.Write([]byte("\n<!DOCTYPE html><title>Sign in</title>"))
	}))
	t.Cleanup(s.Close)
	b := open(t, backend.Settings{"address": s.URL, "retry_max": "0", "retry_wait_min": "0", "retry_wait_max": "0"})
	want := "cannot read state at " + s.URL + ": the server answers with a page for people (it begins with <), and not with a state; " +
		"see whether the address is right, and whether a login or a proxy answers in place of the server"
	if _, err := b.Read(t.Context()); err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

// TestDigestMismatchIsRefused checks that a state that does not match its digest is refused.
func TestDigestMismatchIsRefused(t *testing.T) {
	t.Parallel()
	s := httptestserver.New(t)
	b := open(t, settings(s, nil))
	if err := b.Write(t.Context(), nil, backend.Object{Data: []byte("one")}); err != nil {
		t.Fatal(err)
	}
	s.Damage()
	if _, err := b.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "Content-MD5") {
		t.Errorf("error = %v", err)
	}
}

// TestBackendWithoutLockAddressHasNoLocks checks that a backend without lock_address has no locks.
func TestBackendWithoutLockAddressHasNoLocks(t *testing.T) {
	t.Parallel()
	b := open(t, settings(httptestserver.New(t), backend.Settings{"lock_address": ""}))
	if l, err := b.Lock(context.Background(), backendtest.Info("r1")); l != nil || err != nil {
		t.Errorf("%v, %v", l, err)
	}
}

// TestEndlessAnswerIsCutOff checks that an endless answer is cut off, and that one that is announced as too
// long is not read.
func TestEndlessAnswerIsCutOff(t *testing.T) {
	t.Parallel()
	for name, announced := range map[string]string{"without an end": "", "announced": fmt.Sprint(backend.MaxState + 1)} {
		s := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			if announced != "" {
				w.Header().Set("Content-Length", announced)
			}
			for block := bytes.Repeat([]byte("x"), 1<<20); ; {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		}))
		t.Cleanup(s.Close)
		_, err := open(t, backend.Settings{"address": s.URL, "retry_max": "0"}).Read(t.Context())
		if !errors.Is(err, backend.ErrTooLarge) || !strings.Contains(err.Error(), "it has more than 64 MiB, the most that is read of a state; see whether something else than a state lies there") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

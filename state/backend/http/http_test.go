package http_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/backend/backendtest"
	"github.com/kubewright/kubewright/state/backend/http"
	"github.com/kubewright/kubewright/state/backend/http/httptestserver"
)

// settings are those of a server, as of a configuration with this written.
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

// TestRetries: an answer that was lost, or that says to come again, costs
// nothing; a lock whose answer was lost is this run's.
func TestRetries(t *testing.T) {
	t.Parallel()
	s := httptestserver.New(t)
	b := open(t, settings(s, nil))
	s.Fail(503, 500)
	if err := b.Write(t.Context(), nil, backend.Object{Data: []byte("one")}); err != nil {
		t.Errorf("two failures: %v", err)
	}
	s.Lose(1)
	if _, err := b.Lock(t.Context(), backendtest.Info("r1")); err != nil {
		t.Errorf("an answer that was lost: %v", err)
	}
	s.Fail(503, 503, 503)
	if _, err := b.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("three failures: %v", err)
	}
}

// TestRefusals: each says what is wrong and what to do, and none has the password in it.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := httptestserver.New(t)
	plain := httptest.NewServer(nil)
	plain.Close()
	for name, c := range map[string]struct {
		more backend.Settings
		kind error
		want string
	}{
		"wrong password": {backend.Settings{"password": "wrong-secret"}, backend.ErrRefused, "KUBEWRIGHT_HTTP_PASSWORD"},
		"wrong method":   {backend.Settings{"update_method": "PATCH"}, nil, "update_method"},
		"nobody there":   {backend.Settings{"address": plain.URL + "/s", "retry_max": "0"}, nil, "can be reached"},
	} {
		err := open(t, settings(s, c.more)).Write(t.Context(), nil, backend.Object{Data: []byte("x")})
		if err == nil || !strings.Contains(err.Error(), c.want) || c.kind != nil && !errors.Is(err, c.kind) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: error = %v, want one with %q", name, err, c.want)
		}
	}
	for _, address := range []string{"", "states.example.com", "https://ann:secret@states.example.com/x"} {
		if _, err := http.New(settings(s, backend.Settings{"address": address})); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("address %q: error = %v", address, err)
		}
	}
}

// TestDamagedOnTheWay: a state that does not fit its digest is not taken.
func TestDamagedOnTheWay(t *testing.T) {
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

// TestWithoutLocks: a server of which no address of locks is known has none.
func TestWithoutLocks(t *testing.T) {
	t.Parallel()
	b := open(t, settings(httptestserver.New(t), backend.Settings{"lock_address": ""}))
	if l, err := b.Lock(context.Background(), backendtest.Info("r1")); l != nil || err != nil {
		t.Errorf("%v, %v", l, err)
	}
}

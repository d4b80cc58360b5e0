package s3_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/backend/backendtest"
)

// meddler wraps a server, and can run a function in place of its next write.
type meddler struct {
	mu sync.Mutex
	do func(h http.Handler, w http.ResponseWriter, r *http.Request)
}

// next makes do handle the next write.
func (m *meddler) next(do func(h http.Handler, w http.ResponseWriter, r *http.Request)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.do = do
}

// before runs a function before the next write.
func (m *meddler) before(do func()) {
	m.next(func(h http.Handler, w http.ResponseWriter, r *http.Request) {
		do()
		h.ServeHTTP(w, r)
	})
}

func (m *meddler) wrap(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.mu.Lock()
		do := m.do
		if r.Method == http.MethodPut {
			m.do = nil
		}
		m.mu.Unlock()
		if r.Method == http.MethodPut && do != nil {
			do(h, w, r)
			return
		}
		h.ServeHTTP(w, r)
	})
}

func refuse(status int, code string) func(http.Handler, http.ResponseWriter, *http.Request) {
	return func(_ http.Handler, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `<?xml version="1.0"?><Error><Code>`+code+`</Code></Error>`)
	}
}

// TestConcurrentWriteIsDetected checks that a write that met a concurrent write or a removed object is
// reported as overtaken, and that a write whose own answer was lost succeeds.
func TestConcurrentWriteIsDetected(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do   func(http.Handler, http.ResponseWriter, *http.Request)
		want error
		kept string
	}{
		"two at once": {refuse(http.StatusConflict, "ConditionalRequestConflict"), backend.ErrMoved, "one"},
		"removed":     {refuse(http.StatusNotFound, "NoSuchKey"), backend.ErrMoved, "one"},
		"the answer is lost": {func(h http.Handler, _ http.ResponseWriter, r *http.Request) {
			h.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}, nil, "two"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &meddler{}
			b := open(t, newServer(t, m.wrap), nil)
			if err := b.Write(t.Context(), nil, backend.Object{Data: []byte("one"), Serial: 1}); err != nil {
				t.Fatal(err)
			}
			old, err := b.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			m.next(c.do)
			if err := b.Write(t.Context(), old, backend.Object{Data: []byte("two"), Serial: 2}); !errors.Is(err, c.want) {
				t.Errorf("error = %v, want %v", err, c.want)
			}
			if o, err := b.Read(t.Context()); err != nil || string(o.Data) != c.kept {
				t.Errorf("kept is %+v, %v", o, err)
			}
		})
	}
}

// TestEndedLockIsNotRevived checks that a sign of life does not revive a lock that was ended, that
// ForceUnlock succeeds even if the holder renews the lock meanwhile, and that it leaves the next
// run's lock alone.
func TestEndedLockIsNotRevived(t *testing.T) {
	t.Parallel()
	m := &meddler{}
	server := newServer(t, m.wrap)
	ann, bob, eve := open(t, server, nil), open(t, server, nil), open(t, server, nil)
	check := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	held, err := ann.Lock(t.Context(), backendtest.Info("ann"))
	check("ann locks", err)
	m.before(func() { check("eve ends ann's lock", eve.ForceUnlock(t.Context(), "ann")) })
	if err := held.Confirm(t.Context()); !errors.Is(err, backend.ErrLost) {
		t.Errorf("a sign of life after the end: error = %v", err)
	}
	held, err = ann.Lock(t.Context(), backendtest.Info("ann2"))
	check("ann locks again", err)
	m.before(func() { check("ann lives", held.Confirm(t.Context())) })
	check("eve ends a lock that shows a sign of life", eve.ForceUnlock(t.Context(), "ann2"))
	if holder, err := bob.Holder(t.Context()); holder != nil || err != nil {
		t.Errorf("holder = %+v, %v", holder, err)
	}
	gone, err := ann.Lock(t.Context(), backendtest.Info("ann3"))
	check("ann locks once more", err)
	m.before(func() {
		check("ann releases", gone.Release(t.Context()))
		held, err = bob.Lock(t.Context(), backendtest.Info("bob"))
		check("bob locks", err)
	})
	if err := eve.ForceUnlock(t.Context(), "ann3"); !errors.Is(err, backend.ErrLocked) {
		t.Errorf("bob holds the lock now: error = %v", err)
	}
	check("bob lives", held.Confirm(t.Context()))
}

// TestLockWithoutSignOfLifeIsStillALock checks that a lock without a sign of life for years is still a lock.
func TestLockWithoutSignOfLifeIsStillALock(t *testing.T) {
	t.Parallel()
	m := &meddler{}
	server := newServer(t, m.wrap)
	m.next(func(h http.Handler, w http.ResponseWriter, r *http.Request) {
		info := backendtest.Info("ann")
		info.Renewed = time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC)
		text, err := json.Marshal(info)
		if err != nil {
			t.Error(err)
		}
		old := httptest.NewRequest(http.MethodPut, r.URL.Path, bytes.NewReader(text))
		old.Header.Set("Content-Type", "application/json")
		old.Header.Set("Content-Length", strconv.Itoa(len(text)))
		h.ServeHTTP(w, old)
	})
	if _, err := open(t, server, nil).Lock(t.Context(), backendtest.Info("ann")); err != nil {
		t.Fatal(err)
	}
	_, err := open(t, server, nil).Lock(t.Context(), backendtest.Info("bob"))
	if !errors.Is(err, backend.ErrLocked) || !strings.Contains(err.Error(), "its last sign of life was at 2020-01-01T00:00:00Z") {
		t.Errorf("error = %v", err)
	}
}

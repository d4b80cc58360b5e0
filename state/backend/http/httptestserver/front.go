package httptestserver

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Front is a server before another one, which redirects requests as a load balancer, a
// login or an upgrade to https does.
type Front struct {
	// URL is where it answers.
	URL string
	// Behind answers what is not redirected; nil for no answer.
	Behind http.Handler

	mu      sync.Mutex
	status  int
	to      string
	methods []string
	seen    []string
}

// NewFront starts a front, with TLS where that is asked for.
func NewFront(t *testing.T, encrypted bool, behind http.Handler) *Front {
	t.Helper()
	f := &Front{Behind: behind}
	start := httptest.NewServer
	if encrypted {
		start = httptest.NewTLSServer
	}
	s := start(f)
	t.Cleanup(s.Close)
	f.URL = s.URL
	return f
}

// Redirect has requests with these methods, or with any, redirected to an address, with
// the path and the query of the request. A path below /moved is not redirected again.
func (f *Front) Redirect(status int, to string, methods ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.status, f.to, f.methods = status, to, methods
}

// Seen returns the requests up to now, as METHOD PATH, and whether credentials came with them.
func (f *Front) Seen() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.seen)
}

// moved is where a front has what it redirects to itself.
const moved = "/moved"

// ServeHTTP implements http.Handler.
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	text := r.Method + " " + r.URL.Path
	if r.Header.Get("Authorization") != "" {
		text += " with credentials"
	}
	f.seen = append(f.seen, text)
	status, to, methods := f.status, f.to, f.methods
	f.mu.Unlock()
	path, again := strings.CutPrefix(r.URL.Path, moved)
	if status != 0 && !again && (len(methods) == 0 || slices.Contains(methods, r.Method)) {
		w.Header().Set("Location", to+r.URL.RequestURI())
		w.WriteHeader(status)
		return
	}
	r.URL.Path = path
	if f.Behind == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	f.Behind.ServeHTTP(w, r)
}

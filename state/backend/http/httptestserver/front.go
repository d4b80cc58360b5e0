package httptestserver

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Front is a server in front of another one that redirects requests, as a load balancer, a login
// page or an upgrade to https does.
type Front struct {
	// URL is the address of the front.
	URL string
	// Behind answers the requests that are not redirected; nil answers 404.
	Behind http.Handler

	mu      sync.Mutex
	status  int
	to      string
	methods []string
	seen    []string
}

// NewFront starts a front, with TLS if encrypted is set.
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

// Redirect makes the front redirect requests with these methods, or with any, to an address,
// keeping path and query of the request. A path below /moved is not redirected again.
func (f *Front) Redirect(status int, to string, methods ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.status, f.to, f.methods = status, to, methods
}

// Seen returns the requests so far as METHOD PATH, marked when they carried credentials.
func (f *Front) Seen() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.seen)
}

// moved is the path prefix under which a front serves what it redirects to itself.
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

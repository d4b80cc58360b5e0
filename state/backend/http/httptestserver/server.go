// Package httptestserver is a state server for tests, strict about the protocol: it refuses what
// GitLab refuses.
package httptestserver

import (
	"crypto/md5" //nolint:gosec // the protocol's
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// Server keeps one state.
type Server struct {
	// URL is the state's address; User and Password are required there, unless both are empty.
	URL, User, Password string
	// Path is the path of URL.
	Path string
	// GitLab moves LOCK and UNLOCK to POST and DELETE at URL/lock, and accepts only JSON states
	// with a serial that it has not seen.
	GitLab bool

	mu     sync.Mutex
	state  []byte
	lock   []byte
	lockID string
	fail   []int
	lose   map[string]int
	// serials are the serials of the versions that GitLab has kept.
	serials map[int64]bool
	damage  bool
	// forgetful stores nothing, lockless locks nothing; both answer with success.
	forgetful, lockless bool
	// seen are the requests, as METHOD ID.
	seen []string
}

// New starts a server that ends with the test.
func New(t *testing.T) *Server {
	t.Helper()
	s := &Server{User: "ann", Password: "secret", Path: "/states/prod"}
	s.Start(t)
	return s
}

// Start starts the server, which runs until the end of the test. Set its fields before.
func (s *Server) Start(t *testing.T) {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.URL = server.URL + s.Path
}

// Fail answers the next requests with these statuses.
func (s *Server) Fail(statuses ...int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = statuses
}

// Lose executes the next n requests with a method without answering them.
func (s *Server) Lose(method string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lose = map[string]int{method: n}
}

// Damage corrupts every state that is sent from now on.
func (s *Server) Damage() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.damage = true
}

// Forget makes writes succeed without storing anything, until it is called with false.
func (s *Server) Forget(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetful = on
}

// Lockless makes every lock and unlock succeed without locking, as a server does that ignores the
// method.
func (s *Server) Lockless() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lockless = true
}

// State returns the stored state; nil for none.
func (s *Server) State() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// Put replaces the stored state outside the protocol: versions begin again.
func (s *Server) Put(state []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state, s.serials = state, nil
}

// Holder returns the ID of the lock; empty when it is free.
func (s *Server) Holder() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lockID
}

// Seen returns the requests so far, as METHOD ID.
func (s *Server) Seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.seen...)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, r.Method+" "+r.URL.Query().Get("ID"))
	if user, password, _ := r.BasicAuth(); user != s.User || password != s.Password {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if len(s.fail) > 0 {
		w.WriteHeader(s.fail[0])
		s.fail = s.fail[1:]
		return
	}
	answer := httptest.NewRecorder()
	s.serve(answer, r, body)
	if s.lose[r.Method] > 0 {
		s.lose[r.Method]--
		panic(http.ErrAbortHandler) // executed, but the connection is cut
	}
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, body []byte) {
	method := r.Method
	if s.GitLab && r.URL.Path == s.Path+"/lock" {
		method = map[string]string{"POST": "LOCK", "DELETE": "UNLOCK"}[r.Method]
	} else if r.URL.Path != s.Path || s.GitLab && (method == "LOCK" || method == "UNLOCK") {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	switch method {
	case http.MethodGet:
		s.get(w)
	case http.MethodPost:
		s.post(w, r, body)
	case "LOCK":
		s.lockWith(w, body)
	case "UNLOCK":
		s.unlock(w, body)
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

func sum(b []byte) string {
	m := md5.Sum(b) //nolint:gosec // as above
	return base64.StdEncoding.EncodeToString(m[:])
}

func (s *Server) get(w http.ResponseWriter) {
	if s.state == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("Content-MD5", sum(s.state))
	if s.damage {
		_, _ = w.Write(append([]byte("x"), s.state...))
		return
	}
	_, _ = w.Write(s.state)
}

func (s *Server) post(w http.ResponseWriter, r *http.Request, body []byte) {
	switch {
	case r.Header.Get("Content-MD5") != sum(body) || r.Header.Get("Content-Type") != "application/json":
		w.WriteHeader(http.StatusBadRequest)
	case r.URL.Query().Get("ID") != s.lockID:
		s.conflict(w)
	case s.forgetful:
	default:
		s.keep(w, body)
	}
}

// keep numbers versions as GitLab does: by their serial, each once.
func (s *Server) keep(w http.ResponseWriter, body []byte) {
	if s.GitLab {
		var version struct{ Serial *int64 }
		if json.Unmarshal(body, &version) != nil || version.Serial == nil {
			http.Error(w, "serial is missing", http.StatusBadRequest)
			return
		}
		if s.serials[*version.Serial] {
			http.Error(w, "Validation failed: Version has already been taken", http.StatusUnprocessableEntity)
			return
		}
		if s.serials == nil {
			s.serials = map[int64]bool{}
		}
		s.serials[*version.Serial] = true
	}
	s.state = body
}

// conflict answers with the holder of the lock.
func (s *Server) conflict(w http.ResponseWriter) {
	if s.GitLab {
		w.WriteHeader(http.StatusConflict)
	} else {
		w.WriteHeader(http.StatusLocked)
	}
	_, _ = w.Write(s.lock)
}

// lockWith requires every field, as GitLab does.
func (s *Server) lockWith(w http.ResponseWriter, body []byte) {
	var fields map[string]string
	err := json.Unmarshal(body, &fields)
	for _, name := range []string{"ID", "Operation", "Info", "Who", "Version", "Created", "Path"} {
		if err != nil || fields[name] == "" {
			http.Error(w, name+" is missing", http.StatusBadRequest)
			return
		}
	}
	if s.lockless {
		return
	}
	if s.lockID != "" { // no matter how long its holder has been silent
		s.conflict(w)
		return
	}
	s.lock, s.lockID = body, fields["ID"]
}

func (s *Server) unlock(w http.ResponseWriter, body []byte) {
	var d struct{ ID string }
	if json.Unmarshal(body, &d) != nil || s.lockID != "" && d.ID != s.lockID {
		s.conflict(w)
		return
	}
	s.lock, s.lockID = nil, ""
}

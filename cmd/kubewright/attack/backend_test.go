package attack

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
)

// keeper is a server of one state. A request that intercept handles does not reach the keeper.
type keeper struct {
	intercept func(w http.ResponseWriter, r *http.Request) bool

	mu          sync.Mutex
	state, lock []byte
	// acts are the requests that have changed something on the server.
	acts []string
}

func (k *keeper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if k.intercept != nil && k.intercept(w, r) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	switch r.Method {
	case http.MethodGet:
		if k.state == nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = w.Write(k.state)
		return
	case http.MethodPost:
		k.state = body
	case "LOCK":
		if k.lock != nil {
			w.WriteHeader(http.StatusLocked)
			_, _ = w.Write(k.lock)
			return
		}
		k.lock = body
	case "UNLOCK":
		k.lock = nil
	}
	k.acts = append(k.acts, r.Method)
}

// answers returns an intercept that answers requests of some methods.
func answers(handler http.HandlerFunc, methods ...string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !slices.Contains(methods, r.Method) {
			return false
		}
		handler(w, r)
		return true
	}
}

// kept configures simulated hosts with a state on a hostile server.
func (a *arena) kept(k *keeper) {
	a.Helper()
	server := httptest.NewServer(k)
	a.Cleanup(server.Close)
	a.write("main.hcl", "kubewright {\n  backend \"http\" {\n    address        = \""+server.URL+"/state\"\n    lock_address   = \""+server.URL+
		"/lock\"\n    unlock_address = \""+server.URL+"/lock\"\n  }\n}\n"+simulated)
}

// lost returns an attack on what apply writes. It holds if apply ends with an error.
func lost(name string, k *keeper) attack {
	return attack{name: name, run: func(a *arena) {
		a.kept(k)
		a.refused(a.kubewright("apply", "-auto-approve"))
	}}
}

// unreadable returns a state that plan must refuse.
func unreadable(name string, k *keeper) attack {
	return attack{name: name, run: func(a *arena) {
		a.kept(k)
		a.refused(a.kubewright("plan", "-input=false"))
	}}
}

// redirected redirects the client to another server, which keeps the state.
func redirected(code int, methods ...string) *keeper {
	other := &keeper{}
	var once sync.Once
	var server *httptest.Server
	return &keeper{intercept: answers(func(w http.ResponseWriter, r *http.Request) {
		once.Do(func() { server = httptest.NewServer(other) })
		http.Redirect(w, r, server.URL+r.URL.Path, code)
	}, methods...)}
}

func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

func backendAttacks() []attack {
	out := []attack{
		lost("LOCK redirected", redirected(http.StatusMovedPermanently, "LOCK")),
		lost("POST redirected", redirected(http.StatusMovedPermanently, http.MethodPost)),
		unreadable("GET redirected to another host", redirected(http.StatusFound, http.MethodGet)),
		unreadable("answer without end", &keeper{intercept: answers(func(w http.ResponseWriter, _ *http.Request) { flood(w, " ") }, http.MethodGet)}),
		lost("accepts and does not store", &keeper{intercept: answers(says(""), http.MethodPost)}),
		unreadable("state of garbage", &keeper{state: []byte("\x1b[2J::error::x\n")}),
	}
	more := []attack{
		unreadable("state truncated", &keeper{intercept: answers(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, "{")
		}, http.MethodGet)}),
		unreadable("state of a later version", &keeper{state: []byte(`{"format_version": 99, "lineage": "x"}`)}),
		unreadable("state nested deeply", &keeper{state: bytes.Repeat([]byte("["), 5_000_000)}),
		unreadable("state is a list", &keeper{state: []byte("[]")}),
		unreadable("error with escapes", &keeper{intercept: answers(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, noise)
		}, http.MethodGet)}),
		lost("lock held by escapes", &keeper{lock: []byte(`{"ID":"` + `\u001b[2J` + `","Who":"\u202e::error::x"}`)}),
		lost("lock held by a megabyte", &keeper{lock: bytes.Repeat([]byte("A"), 1<<20)}),
		unreadable("redirected in a circle", &keeper{intercept: answers(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
		}, http.MethodGet)}),
		unreadable("redirected to a file", &keeper{intercept: answers(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "file:///etc/passwd")
			w.WriteHeader(http.StatusFound)
		}, http.MethodGet)}),
		lost("answers POST with an error", &keeper{intercept: answers(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
		}, http.MethodPost)}),
	}
	for _, code := range []int{302, 303, 307, 308} {
		more = append(more,
			lost(fmt.Sprintf("LOCK redirected with %d", code), redirected(code, "LOCK")),
			lost(fmt.Sprintf("POST redirected with %d", code), redirected(code, http.MethodPost)))
	}
	for i := range more {
		more[i].long = true
	}
	return append(append(out, more...), credentialAttack())
}

// credentialAttack redirects a client that has a password to another port.
func credentialAttack() attack {
	return attack{name: "password to another port", long: true, run: func(a *arena) {
		other := a.listen("Authorization")
		k := &keeper{intercept: answers(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://"+other+r.URL.Path, http.StatusFound)
		}, http.MethodGet, http.MethodPost, "LOCK")}
		a.kept(k)
		a.env = append(a.env, "KUBEWRIGHT_HTTP_USERNAME=ann", "KUBEWRIGHT_HTTP_PASSWORD=the-password")
		if o := a.kubewright("plan", "-input=false"); strings.Contains(o.text(), "the-password") {
			a.Error("the output contains the password")
		}
	}}
}

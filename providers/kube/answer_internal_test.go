package kube

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// TestEndlessAnswer: an API server that never stops talking is cut off, whatever it
// was asked, and one that says as much as may be said is not.
func TestEndlessAnswer(t *testing.T) {
	t.Parallel()
	const most = 1 << 20
	for name, endless := range map[string]string{"version": "/version", "nodes": "/api/v1/nodes", "none": "no/path"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, map[string]string{
				"/version": `{"gitVersion":"v1.36.3"}`, "/api/v1/nodes": `{"kind":"NodeList","apiVersion":"v1"}`, "/api/v1/pods": `{"kind":"PodList","apiVersion":"v1"}`,
			}[r.URL.Path])
			_, _ = w.Write(bytes.Repeat([]byte(" "), most/2))
			for r.URL.Path == endless {
				if _, err := w.Write(bytes.Repeat([]byte(" "), 1<<16)); err != nil {
					return
				}
			}
		}))
		s, err := connect(&rest.Config{Host: server.URL}, most)
		if err != nil {
			t.Fatal(err)
		}
		api := &API{sessions: []*session{s}}
		_, err = api.Observe(t.Context(), state.ClusterQuery{})
		said := err != nil && strings.Contains(err.Error(), "the API server sends more than 1 MiB as one answer")
		if cut := errors.Is(err, providers.ErrProtocol) && said; cut != strings.HasPrefix(endless, "/") {
			t.Errorf("%s: got %v", name, err)
		}
		_ = api.Close()
		server.Close()
	}
}

// TestCloseEndsConnections: a connection is a channel to a host, and does not stay
// open when nobody asks any more.
func TestCloseEndsConnections(t *testing.T) {
	t.Parallel()
	closed := make(chan struct{})
	once := sync.OnceFunc(func() { close(closed) })
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateClosed {
			once()
		}
	}
	server.Start()
	defer server.Close()
	s, err := connect(&rest.Config{Host: server.URL}, answerCap)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := s.typed.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(t.Context()); err != nil || string(b) != "ok" {
		t.Fatalf("got %q, %v", b, err)
	}
	select {
	case <-closed:
		t.Fatal("it is closed before it is to be")
	default:
	}
	if err := (&API{sessions: []*session{s}}).Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-closed:
	case <-time.After(20 * time.Second): // on its own it ends after 90
		t.Error("the connection is left open")
	}
}

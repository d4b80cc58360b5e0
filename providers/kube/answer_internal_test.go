package kube

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/budget"
	"github.com/kubewright/kubewright/state"
)

// TestAnswerEndlessIsCutOff checks that an API server that never stops sending is cut off, whatever
// the request, and that an answer just within the limit is accepted.
func TestAnswerEndlessIsCutOff(t *testing.T) {
	t.Parallel()
	for endless, want := range map[string]string{
		"/version":      "the API server's answer to /version has more than 8 MiB, which is more than was asked for",
		"/api/v1/nodes": "the API server's answer to /api/v1/nodes has more than 16 MiB, which is more than was asked for",
		"no/path":       "",
	} {
		room := budget.New()
		err := observeOne(t, room, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, map[string]string{
				"/version": `{"gitVersion":"v1.36.3"}`, "/api/v1/nodes": `{"kind":"NodeList","apiVersion":"v1"}`, "/api/v1/pods": `{"kind":"PodList","apiVersion":"v1"}`,
			}[r.URL.Path])
			_, _ = w.Write(bytes.Repeat([]byte(" "), objectCap/2))
			for r.URL.Path == endless {
				if _, err := w.Write(bytes.Repeat([]byte(" "), 1<<16)); err != nil {
					return
				}
			}
		})
		if want == "" && err != nil || want != "" && (!errors.Is(err, providers.ErrProtocol) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v", endless, err)
		}
		if n := room.Used(); n != 0 {
			t.Errorf("%s: %d bytes are not given back", endless, n)
		}
	}
}

// observeOne observes an API that a handler makes.
func observeOne(t *testing.T, room *budget.Budget, handle http.HandlerFunc) error {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		handle(w, r)
	}))
	defer server.Close()
	s, err := connect(&rest.Config{Host: server.URL}, room)
	if err != nil {
		t.Fatal(err)
	}
	api := &API{sessions: []*session{s}}
	defer api.Close()
	_, err = api.Observe(t.Context(), state.ClusterQuery{})
	return err
}

// TestAnswerLargeWhenDecodedIsRefused checks that an answer that would take much memory when decoded is
// refused before that.
func TestAnswerLargeWhenDecodedIsRefused(t *testing.T) {
	t.Parallel()
	page := func(items string) string { return `{"kind":"PodList","apiVersion":"v1","items":[` + items + `]}` }
	for name, c := range map[string]struct{ pods, want string }{
		"small items":      {page(strings.Repeat(`{"metadata":{"name":"a"}},`, 501) + "{}"), "has more than 500 items"},
		"null items":       {page(strings.Repeat(`null,`, 501) + "null"), "has more than 500 items"},
		"small containers": {page(`{"spec":{"containers":[` + strings.Repeat(`{},`, pageElements) + `{}]}}`), "has more than 65536 elements of arrays"},
		"labels":           {page(`{"metadata":{"labels":{` + strings.Repeat(`"a":"",`, pageValues) + `"b":""}}}`), "has more than 1048576 values"},
		"deep":             {page(strings.Repeat("[", 2*nesting) + strings.Repeat("]", 2*nesting)), "has more than 1000 values in each other"},
		"in order":         {page(strings.Repeat(`{"metadata":{"name":"a"}},`, 499) + "{}"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := observeOne(t, budget.New(), func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, map[string]string{
					"/version": `{"gitVersion":"v1.36.3"}`, "/api/v1/nodes": `{"kind":"NodeList","apiVersion":"v1"}`, "/api/v1/pods": c.pods,
				}[r.URL.Path])
			})
			if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, providers.ErrProtocol) || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestAnswerOfOtherContentTypeIsNotDecoded checks that content which cannot be measured while it arrives is not
// decoded.
func TestAnswerOfOtherContentTypeIsNotDecoded(t *testing.T) {
	t.Parallel()
	for _, form := range []string{"application/vnd.kubernetes.protobuf", "application/cbor", "application/vnd.kubernetes.protobuf;stream=watch"} {
		err := observeOne(t, budget.New(), func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", form)
			_, _ = io.WriteString(w, `{"gitVersion":"v1.36.3"}`)
		})
		if !errors.Is(err, providers.ErrProtocol) || !strings.Contains(err.Error(), "in another form than JSON") {
			t.Errorf("%s: got %v", form, err)
		}
		if got, want := providers.RemedyOf(err), "no API server in order answers so. Take its host for compromised until you know better"; got != want {
			t.Errorf("%s: the remedy is %q, want %q", form, got, want)
		}
	}
}

// TestAnswersTooLargeTogetherAreRefused checks that objects that are each small enough are refused if
// one observation reads too many values in all.
func TestAnswersTooLargeTogetherAreRefused(t *testing.T) {
	t.Parallel()
	const n = objectValues * 3 / 4
	object := `{"kind":"Secret","apiVersion":"v1","list":{` + strings.Repeat(`"a":"",`, n) + `"b":""}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, object)
	}))
	defer server.Close()
	client := &http.Client{Transport: capped{http.DefaultTransport, budget.New()}}
	ctx := context.WithValue(t.Context(), allowanceKey{}, &allowance{})
	for read := 0; ; read++ {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/api/v1/secrets", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		if err == nil && read <= readValues/n {
			continue
		}
		if err == nil || read == 0 || !strings.Contains(err.Error(), "together with those before more than 1048576 values") {
			t.Errorf("after %d answers: got %v", read, err)
		}
		return
	}
}

// TestDrainedPodsAreKeptUpToLimit checks that pods on nodes to be drained are kept whole, but no more than
// a cluster has.
func TestDrainedPodsAreKeptUpToLimit(t *testing.T) {
	t.Parallel()
	s := podsSeen{counts: map[string]int{}, room: kept{what: "pods"}}
	var err error
	seen := 0
	for ; err == nil && seen <= mostDrained; seen++ {
		err = s.see(&corev1.Pod{Spec: corev1.PodSpec{NodeName: "w1"}}, []string{"w1"})
	}
	if _, is := errors.AsType[*tooManyError](err); !is || seen != mostDrained+1 || !strings.Contains(err.Error(), "more than 20000 pods on the nodes to be drained") {
		t.Errorf("after %d pods: got %v", seen, err)
	}
}

// TestAnswerScannerCounts checks that the counts depend neither on how the JSON is split, nor on the
// contents of strings.
func TestAnswerScannerCounts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]int{
		`{"items":[{"a":[1,2,3]},{"b":"[,]{}"},null, 12 ]}`: {4, 7},
		`{"items":[]}`:                           {0, 0},
		`{"items": [ ] , "x":{"y":["z"]}}`:       {0, 1},
		`{"items":["\\\"],[","x\\"],"m":[true]}`: {3, 3},
		`[{"items":[1]}]`:                        {0, 2},
		`]]]}{"items":[1,2]}`:                    {2, 2},
	} {
		for i := range len(text) + 1 {
			var s scanner
			s.scan([]byte(text[:i]))
			s.scan([]byte(text[i:]))
			if s.items != want[0] || s.elements != want[1] {
				t.Errorf("%s in parts at %d: %d items, %d elements, want %v", text, i, s.items, s.elements, want)
			}
		}
	}
}

// TestCloseEndsConnections checks that a connection, which is a channel to a host, does not
// stay open after Close.
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
	s, err := connect(&rest.Config{Host: server.URL}, budget.New())
	if err != nil {
		t.Fatal(err)
	}
	if b, err := s.typed.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(t.Context()); err != nil || string(b) != "ok" {
		t.Fatalf("got %q, %v", b, err)
	}
	select {
	case <-closed:
		t.Fatal("it is closed too early")
	default:
	}
	if err := (&API{sessions: []*session{s}}).Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-closed:
	case <-time.After(20 * time.Second): // an idle connection ends by itself after 90
		t.Error("the connection is left open")
	}
}

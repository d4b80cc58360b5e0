package kubernetes_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/backend/backendtest"
	"github.com/kubewright/kubewright/state/backend/kubernetes/kubernetestest"
)

// fronted returns an API server whose requests all go to a handler.
func fronted(t *testing.T, answer http.HandlerFunc) *kubernetestest.Server {
	t.Helper()
	s := kubernetestest.New(t)
	s.Config.Handler = answer
	return s
}

// TestRedirectsAreNotFollowed checks that no redirect is followed, and that no other server gets the token:
// clients that follow one turn a write into a read.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 303, 307, 308} {
		reached := make(chan string, 100)
		target := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { reached <- r.Header.Get("Authorization") }))
		t.Cleanup(target.Close)
		s := fronted(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, target.URL+r.URL.Path, status) })
		b := open(t, settings(t, s, s.Token))
		o, readErr := b.Read(t.Context())
		l, lockErr := b.Lock(t.Context(), backendtest.Info("r1"))
		for what, err := range map[string]error{"read": readErr, "lock": lockErr, "write": b.Write(t.Context(), nil, backend.Object{Data: []byte("x")})} {
			if err == nil || !strings.Contains(err.Error(), "the API server redirects to "+target.URL) || !strings.Contains(err.Error(), "which is not followed: see whether the server of the kubeconfig is right, and no proxy with a login stands before it") {
				t.Errorf("%d, %s: error = %v", status, what, err)
			}
		}
		if o != nil || l != nil || len(reached) > 0 {
			t.Errorf("%d: %v, %v, %d requests were redirected", status, o, l, len(reached))
		}
	}
}

// endless is an answer without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// TestOversizedAnswerIsCutOff checks that an answer that is too long to be a Secret is not read to its end.
func TestOversizedAnswerIsCutOff(t *testing.T) {
	t.Parallel()
	s := fronted(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.Copy(w, endless{})
	})
	if o, err := open(t, settings(t, s, s.Token)).Read(t.Context()); o != nil || err == nil || !strings.Contains(err.Error(), "the API server's answer is larger than 8 MiB, and so is no Secret") {
		t.Errorf("%+v, %v", o, err)
	}
}

// TestOversizedUnpackedSecretIsRefused checks that a Secret that unpacks to more than MaxState bytes is refused.
func TestOversizedUnpackedSecretIsRefused(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := io.CopyN(w, endless{}, backend.MaxState+1); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s := kubernetestest.New(t)
	s.Put(secretPath, fmt.Appendf(nil, `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "kubewright-state-prod", "resourceVersion": "1"}, "data": {"state": %q}}`, base64.StdEncoding.EncodeToString(packed.Bytes())))
	if o, err := open(t, settings(t, s, s.Token)).Read(t.Context()); o != nil || !errors.Is(err, backend.ErrTooLarge) {
		t.Errorf("%+v, %v", o, err)
	}
}

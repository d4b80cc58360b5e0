package kube

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"

	"github.com/kubewright/kubewright/providers"
)

// noting is a transport that records the last temporary failure. The pods of a drain may fail for
// several reasons, and a status alone does not say which of them are temporary.
type noting struct {
	next http.RoundTripper

	mu  sync.Mutex
	err error
}

// noted returns a client of the session that goes through a noting.
func (s *session) noted() (*clients, *noting, error) {
	n := &noting{next: s.http.Transport}
	client, err := newClients(s.config, &http.Client{Transport: n, Timeout: s.http.Timeout})
	return client, n, err
}

// RoundTrip implements http.RoundTripper.
func (n *noting) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := n.next.RoundTrip(r)
	switch {
	case r.Context().Err() != nil: // the caller has given up
	case err != nil:
		n.note(&url.Error{Op: r.Method, URL: r.URL.Path, Err: err})
	case answer.StatusCode == http.StatusBadGateway, answer.StatusCode == http.StatusServiceUnavailable, answer.StatusCode == http.StatusGatewayTimeout:
		n.note(fmt.Errorf("%w: %s", providers.ErrUnavailable, answer.Status))
	}
	return answer, err
}

func (n *noting) note(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.err = err
}

// kind returns the kind of the last temporary failure; nil if there was none.
func (n *noting) kind() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.err == nil {
		return nil
	}
	if kind := kindOf(n.err); kind != nil {
		return kind
	}
	for _, known := range []error{providers.ErrUnreachable, providers.ErrDisconnected, providers.ErrTimeout, providers.ErrUnavailable} {
		if errors.Is(n.err, known) {
			return known
		}
	}
	return nil
}

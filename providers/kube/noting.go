package kube

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"

	"k8s.io/client-go/kubernetes"

	"github.com/kubewright/kubewright/providers"
)

// noting is a transport that records the last temporary failure. Third-party code reports
// errors as text, from which no kind can be derived.
type noting struct {
	next http.RoundTripper

	mu  sync.Mutex
	err error
	// parts counts the requests for further pages of a list.
	parts int
}

// mostParts limits the requests for further pages in a drain: kubectl's code follows a list
// to its end.
const mostParts = 2 * mostDrained / pageSize

// noted returns a client of the session that goes through a noting.
func (s *session) noted() (kubernetes.Interface, *noting, error) {
	n := &noting{next: s.http.Transport}
	client, err := kubernetes.NewForConfigAndClient(s.config, &http.Client{Transport: n, Timeout: s.http.Timeout})
	return client, n, err
}

// RoundTrip implements http.RoundTripper.
func (n *noting) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Query().Has("continue") && n.tooMany() {
		return nil, &tooManyError{"pods on one node", mostDrained}
	}
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

// tooMany counts a request for a further page.
func (n *noting) tooMany() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.parts++
	return n.parts > mostParts
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

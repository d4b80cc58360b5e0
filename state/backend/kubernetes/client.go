package kubernetes

import (
	"fmt"
	"io"
	"net/http"
	"net/url"

	typedcoordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

// maxAnswer bounds an answer of the API server, in bytes: a Secret of maxSecret in base64, and
// the other fields of the object.
const maxAnswer = 8 << 20

// clients are those of the API groups in use. The clientset of client-go has those of all groups, an
// eighth of the program.
type clients struct {
	core         *typedcorev1.CoreV1Client
	coordination *typedcoordinationv1.CoordinationV1Client
}

// connect creates the clients. It follows no redirect: a redirected write becomes a read, which
// succeeds and changes nothing, and client-go adds credentials to every request, including one to
// another server.
func connect(config *rest.Config) (*clients, error) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return bounded{next} })
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	own := *client
	own.CheckRedirect = func(next *http.Request, _ []*http.Request) error {
		to := url.URL{Scheme: next.URL.Scheme, Host: next.URL.Host, Path: next.URL.Path}
		return fmt.Errorf("the API server redirects to %s, which is not followed: see whether the server of the kubeconfig is right, and no proxy with a login stands before it", to.String())
	}
	var c clients
	if c.core, err = typedcorev1.NewForConfigAndClient(config, &own); err != nil {
		return nil, err
	}
	c.coordination, err = typedcoordinationv1.NewForConfigAndClient(config, &own)
	return &c, err
}

// bounded fails answers that are too long to be a Secret.
type bounded struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.next.RoundTrip(r)
	if err == nil {
		resp.Body = &boundedBody{resp.Body, maxAnswer}
	}
	return resp, err
}

// WrappedRoundTripper lets client-go find the wrapped transport.
func (b bounded) WrappedRoundTripper() http.RoundTripper { return b.next }

type boundedBody struct {
	io.ReadCloser
	left int
}

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("the API server's answer is larger than %d MiB, and so is no Secret", maxAnswer>>20)
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

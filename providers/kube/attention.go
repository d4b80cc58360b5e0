package kube

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/kubewright/kubewright/providers"
)

// silence is how long an API may bring nothing before it counts as one that does not
// answer. A large cluster's answer takes as long as it takes.
const silence = 15 * time.Second

// attentive does something as as does, and gives it up once the API has brought nothing
// for a while. What is under way at the same time is timed together: a small answer may
// come behind a large one.
func (a *API) attentive(ctx context.Context, do string, act func(context.Context, *session) error) error {
	limit := cmp.Or(a.silence, silence)
	silent := &providers.Error{Kind: providers.ErrTimeout, Do: do, Cause: fmt.Errorf("nothing has come from it for %s", limit)}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(limit, func() { cancel(silent) })
	defer timer.Stop()
	err := a.as(do, func(s *session) error {
		heard, err := s.telling(func() { timer.Reset(limit) })
		if err != nil {
			return err
		}
		return act(ctx, heard)
	})
	if err != nil && context.Cause(ctx) == error(silent) {
		return silent
	}
	return err
}

// telling is the session with clients that tell when something has come.
func (s *session) telling(tell func()) (*session, error) {
	out := *s
	client := &http.Client{Transport: telling{s.http.Transport, tell}, Timeout: s.http.Timeout}
	var err error
	if out.dynamic, err = dynamic.NewForConfigAndClient(s.config, client); err != nil {
		return nil, err
	}
	out.typed, err = kubernetes.NewForConfigAndClient(s.config, client)
	return &out, err
}

// telling is a way to the API that tells when something has come on it.
type telling struct {
	next http.RoundTripper
	tell func()
}

// RoundTrip implements http.RoundTripper.
func (t telling) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.next.RoundTrip(r)
	if err == nil {
		t.tell()
		answer.Body = tellingBody{answer.Body, t.tell}
	}
	return answer, err
}

type tellingBody struct {
	io.ReadCloser
	tell func()
}

func (b tellingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.tell()
	}
	return n, err
}

package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/client-go/dynamic"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/budget"
)

const (
	// silence is how long an API may send no data before it counts as one that does not
	// answer. A large answer may take longer than that in all.
	silence = 15 * time.Second
	// observeTime bounds all answers together, in addition to the time that their bytes
	// take at budget.LeastRate.
	observeTime = 5 * time.Minute
)

// attentive is as with a time limit: it gives up once the API sends no data for a while, or
// too little. Concurrent requests are timed together, since a small answer may queue after
// a large one.
func (a *API) attentive(ctx context.Context, do string, act func(context.Context, *session) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := a.pace.Watch(func(err error) { cancel(&slowError{do, err}) })
	defer watch.Stop()
	watch.Heard(0)
	ctx = context.WithValue(ctx, allowanceKey{}, &allowance{watch: watch})
	err := a.as(do, func(s *session) error {
		heard, err := s.telling(watch.Heard)
		if err != nil {
			return err
		}
		return act(ctx, heard)
	})
	if slow, is := errors.AsType[*slowError](context.Cause(ctx)); is && err != nil && slow.do == do {
		return &providers.Error{Kind: providers.ErrTimeout, Do: do, Cause: slow.explain()}
	}
	return err
}

// slowError is why an act was given up.
type slowError struct {
	do    string
	cause error
}

func (e *slowError) Error() string { return e.cause.Error() }

func (e *slowError) explain() error {
	if silent, is := errors.AsType[*budget.SilentError](e.cause); is {
		return fmt.Errorf("nothing has come from it for %s", silent.Silence)
	}
	return providers.WithRemedy(e.cause, fmt.Sprintf("check the load of the API server and the link to its host, which has to carry %d KiB per second", budget.LeastRate>>10))
}

// telling returns the session with clients that report how many bytes have arrived.
func (s *session) telling(tell func(int)) (*session, error) {
	out := *s
	client := &http.Client{Transport: telling{s.http.Transport, tell}, Timeout: s.http.Timeout}
	var err error
	if out.dynamic, err = dynamic.NewForConfigAndClient(s.config, client); err != nil {
		return nil, err
	}
	out.typed, err = newClients(s.config, client)
	return &out, err
}

// telling is a transport that reports how many bytes have arrived.
type telling struct {
	next http.RoundTripper
	tell func(int)
}

// RoundTrip implements http.RoundTripper.
func (t telling) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.next.RoundTrip(r)
	if err == nil {
		t.tell(0)
		answer.Body = tellingBody{answer.Body, t.tell}
	}
	return answer, err
}

type tellingBody struct {
	io.ReadCloser
	tell func(int)
}

func (b tellingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.tell(n)
	}
	return n, err
}

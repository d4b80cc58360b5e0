package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/budget"
)

const (
	// silence is how long an API may bring nothing before it counts as one that does not
	// answer. A large cluster's answer takes as long as it takes.
	silence = 15 * time.Second
	// observeTime is how long all answers may take together, besides the time that their
	// bytes take at budget.LeastRate.
	observeTime = 5 * time.Minute
)

// attentive does something as as does, and gives it up once the API has brought nothing
// for a while, or brings too little. What is under way at the same time is timed together:
// a small answer may come behind a large one.
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

// slowError is why something was given up.
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

// telling returns the session with clients that tell how many bytes have come.
func (s *session) telling(tell func(int)) (*session, error) {
	out := *s
	client := &http.Client{Transport: telling{s.http.Transport, tell}, Timeout: s.http.Timeout}
	var err error
	if out.dynamic, err = dynamic.NewForConfigAndClient(s.config, client); err != nil {
		return nil, err
	}
	out.typed, err = kubernetes.NewForConfigAndClient(s.config, client)
	return &out, err
}

// telling is a way to the API that tells how many bytes have come on it.
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

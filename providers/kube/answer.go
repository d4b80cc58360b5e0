package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/budget"
)

// Limits for an answer of the API. Its memory depends less on its bytes than on the
// elements of its arrays: {} takes as much as a whole container.
const (
	// pageCap limits a page of a list, in bytes; a larger page is requested again with
	// fewer items.
	pageCap = 16 << 20
	// pageElements limits the elements of all arrays of a page, and pageValues all values.
	pageElements = 1 << 16
	pageValues   = 1 << 20
	// objectCap limits any other answer, in bytes. An API server accepts no object larger
	// than 3 MiB, and its resource lists are smaller.
	objectCap    = 8 << 20
	objectValues = 1 << 18
	// metricsCap limits the metrics, in bytes.
	metricsCap = 64 << 20
	// readValues limits the values of all objects that one observation reads.
	readValues = 1 << 20
	// nesting limits how deep values are nested.
	nesting = 1000
)

// tooLargeError reports an answer that was cut off because it exceeds a limit.
type tooLargeError struct {
	// path is the path of the request.
	path string
	// has names the limit that it exceeds, such as "more than 16 MiB".
	has string
	// page reports whether fewer items may be asked for.
	page bool
}

func (e *tooLargeError) Error() string {
	return fmt.Sprintf("the API server's answer to %s has %s, which is more than was asked for", e.path, e.has)
}

// requestPace is how fast each request has to be answered. An API server takes at most a
// minute for one (--request-timeout).
var requestPace = budget.Pace{Silence: 75 * time.Second, Total: 5 * time.Minute}

// lateError is why a request was given up.
type lateError struct {
	method, path string
	cause        error
}

func (e *lateError) Error() string {
	return fmt.Sprintf("%s %s: %v", e.method, e.path, e.cause)
}

// Unwrap returns the kind: a write may have happened.
func (e *lateError) Unwrap() []error { return []error{providers.ErrTimeout, e.cause} }

// late returns why a request was given up, or err itself if it was not.
func late(ctx context.Context, err error) error {
	if e, is := errors.AsType[*lateError](context.Cause(ctx)); is {
		return e
	}
	return err
}

// errOtherForm reports an answer with a content type that was not requested.
var errOtherForm = errors.New("the API server answers in another form than JSON, which was not asked for")

// measure is the limits of an answer.
type measure struct {
	path string
	// bytes limits the body; items, elements and values limit its JSON, 0 for other
	// content. items is also 0 if the answer is no page of a list.
	bytes                   int64
	items, elements, values int
}

// measureOf returns the limits of the answer to a request.
func measureOf(u *url.URL) measure {
	if u.Path == "/metrics" {
		return measure{path: u.Path, bytes: metricsCap}
	}
	if items, err := strconv.Atoi(u.Query().Get("limit")); err == nil && items > 0 {
		return measure{path: u.Path, bytes: pageCap, items: items, elements: pageElements, values: pageValues}
	}
	return measure{path: u.Path, bytes: objectCap, elements: pageElements, values: objectValues}
}

// allowance is the limits of one observation. Its requests have it in their context.
type allowance struct {
	// watch is stopped while an answer waits for memory.
	watch *budget.Watch
	// values counts those of the objects read so far.
	values atomic.Int64
}

type allowanceKey struct{}

func allowanceOf(ctx context.Context) *allowance {
	a, _ := ctx.Value(allowanceKey{}).(*allowance)
	return a
}

// capped cuts off answers that exceed their limits.
type capped struct {
	http.RoundTripper
	budget *budget.Budget
}

// RoundTrip implements http.RoundTripper.
func (c capped) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	pace := requestPace
	if allowanceOf(ctx) != nil {
		pace = budget.Pace{} // an observation is timed as one
	}
	watch := pace.Watch(func(err error) { cancel(&lateError{r.Method, r.URL.Path, err}) })
	watch.Heard(0)
	answer, err := c.RoundTripper.RoundTrip(r.WithContext(ctx))
	if err != nil {
		watch.Stop()
		err = late(ctx, err)
		cancel(nil)
		return nil, err
	}
	// JSON can be measured while it arrives. Without a content type client-go assumes that
	// of the request.
	switch form := answer.Header.Get("Content-Type"); {
	case form == "":
		answer.Header.Set("Content-Type", "application/json")
	case strings.Contains(form, "protobuf"), strings.Contains(form, "cbor"):
		watch.Stop()
		_ = answer.Body.Close()
		cancel(nil)
		return nil, errOtherForm
	}
	answer.Body = &cappedBody{ReadCloser: answer.Body, ctx: ctx, cancel: cancel, watch: watch, measure: measureOf(r.URL), room: c.budget.Lease()}
	return answer, nil
}

// WrappedRoundTripper implements net.RoundTripperWrapper of apimachinery, which finds idle
// connections that way.
func (c capped) WrappedRoundTripper() http.RoundTripper { return c.RoundTripper }

// cappedBody is the body of an answer, measured as it is read.
type cappedBody struct {
	io.ReadCloser
	ctx     context.Context
	cancel  context.CancelCauseFunc
	watch   *budget.Watch
	measure measure
	room    *budget.Lease
	read    int64
	json    scanner
}

func (b *cappedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = late(b.ctx, err)
	}
	if n == 0 {
		return n, err
	}
	b.watch.Heard(n)
	if held := b.hold(n); held != nil {
		return 0, held
	}
	if b.read += int64(n); b.read > b.measure.bytes {
		return 0, b.tooLarge(fmt.Sprintf("more than %d MiB", b.measure.bytes>>20))
	}
	if b.measure.values == 0 {
		return n, err
	}
	before := b.json.values
	b.json.scan(p[:n])
	if has := b.measure.exceeded(&b.json); has != "" {
		return 0, b.tooLarge(has)
	}
	if a := allowanceOf(b.ctx); a != nil && b.measure.items == 0 && a.values.Add(int64(b.json.values-before)) > readValues {
		return 0, b.tooLarge(fmt.Sprintf("together with those before more than %d values", readValues))
	}
	return n, err
}

// Close implements io.Closer.
func (b *cappedBody) Close() error {
	b.room.Release()
	b.watch.Stop()
	err := b.ReadCloser.Close()
	b.cancel(nil)
	return err
}

func (b *cappedBody) tooLarge(has string) error {
	page := b.measure.items > 1 && b.json.items <= b.measure.items
	return &tooLargeError{path: b.measure.path, has: has, page: page}
}

// hold makes room for n bytes. While it waits, the API server's time does not count.
func (b *cappedBody) hold(n int) error {
	if ok, err := b.room.Try(int64(n)); ok || err != nil {
		return err
	}
	b.watch.Pause()
	defer b.watch.Resume()
	if a := allowanceOf(b.ctx); a != nil {
		a.watch.Pause()
		defer a.watch.Resume()
	}
	return b.room.Grow(b.ctx, int64(n))
}

// exceeded names the limit that the JSON exceeds, or returns "".
func (m measure) exceeded(s *scanner) string {
	switch {
	case m.items > 0 && s.items > m.items:
		return fmt.Sprintf("more than %d items", m.items)
	case s.elements > m.elements:
		return fmt.Sprintf("more than %d elements of arrays", m.elements)
	case s.values > m.values:
		return fmt.Sprintf("more than %d values", m.values)
	case len(s.open) > nesting:
		return fmt.Sprintf("more than %d values in each other", nesting)
	}
	return ""
}

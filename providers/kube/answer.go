package kube

import (
	"fmt"
	"io"
	"net/http"
)

// answerCap is how large an answer of the API may be, in bytes: more than the pods
// of the largest clusters take. One that has no end would take all memory here.
const answerCap = 1 << 30

// tooLargeError is why an answer was cut off.
type tooLargeError struct{ most int64 }

func (e *tooLargeError) Error() string {
	return fmt.Sprintf("the API server sends more than %d MiB as one answer", e.most>>20)
}

// capped cuts off answers with more bytes than most.
type capped struct {
	http.RoundTripper
	most int64
}

// RoundTrip implements http.RoundTripper.
func (c capped) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := c.RoundTripper.RoundTrip(r)
	if err == nil {
		answer.Body = &cappedBody{answer.Body, c.most, c.most}
	}
	return answer, err
}

// WrappedRoundTripper implements net.RoundTripperWrapper of apimachinery, by which
// idle connections are found.
func (c capped) WrappedRoundTripper() http.RoundTripper { return c.RoundTripper }

// cappedBody is the body of an answer, of which some bytes are left to come.
type cappedBody struct {
	io.ReadCloser
	most, left int64
}

func (b *cappedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, &tooLargeError{b.most}
	}
	return n, err
}

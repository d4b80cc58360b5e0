package console

import (
	"io"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/state/backend"
)

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestBoundedReaderEndsAtLimit(t *testing.T) {
	t.Parallel()
	read := &io.LimitedReader{R: endless{}, N: 1 << 40}
	_, err := bounded(read)
	if err == nil || !strings.Contains(err.Error(), "it has more than 64 MiB, the most that is read of a file: see whether it is the right one") {
		t.Errorf("error = %v", err)
	}
	if got := int64(1<<40) - read.N; got > 2*backend.MaxState {
		t.Errorf("%d bytes were read", got)
	}
	if b, err := bounded(strings.NewReader("{}")); string(b) != "{}" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
}

package backend_test

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/state/backend"
)

// endless is a server that never stops sending.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// TestReadAllLimitsSize checks that at most MaxState bytes are read, no matter which size is announced.
func TestReadAllLimitsSize(t *testing.T) {
	for name, c := range map[string]struct {
		r    io.Reader
		size int64
		want []byte
		err  func(error) bool
	}{
		"announced":            {strings.NewReader("state"), 5, []byte("state"), nil},
		"not announced":        {strings.NewReader("state"), -1, []byte("state"), nil},
		"empty":                {strings.NewReader(""), 0, nil, nil},
		"more than announced":  {strings.NewReader("state"), 4, nil, func(err error) bool { return err.Error() == "more follows than was announced" }},
		"less than announced":  {strings.NewReader("state"), 6, nil, func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }},
		"endless":              {endless{}, -1, nil, backend.IsLarge},
		"too much announced":   {endless{}, backend.MaxState + 1, nil, backend.IsLarge},
		"the most, announced":  {io.LimitReader(endless{}, backend.MaxState), backend.MaxState, make([]byte, backend.MaxState), nil},
		"the most":             {io.LimitReader(endless{}, backend.MaxState), -1, make([]byte, backend.MaxState), nil},
		"one more, in a state": {io.LimitReader(endless{}, backend.MaxState+1), -1, nil, backend.IsLarge},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, err := backend.ReadAll(c.r, c.size)
		runtime.ReadMemStats(&after)
		switch {
		case c.err != nil && (err == nil || !c.err(err)):
			t.Errorf("%s: error = %v", name, err)
		case c.err == nil && (err != nil || !bytes.Equal(got, c.want)):
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 3*backend.MaxState {
			t.Errorf("%s: %d MiB were allocated", name, took>>20)
		}
	}
	want := "cannot read state at https://x: it has more than 64 MiB, the most that is read of a state; see whether something else than a state lies there, and put an older version of it back"
	if err := backend.TooLarge("read state", "https://x"); err.Error() != want || !errors.Is(err, backend.ErrTooLarge) {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

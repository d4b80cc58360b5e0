package backendtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/kubewright/kubewright/state/backend"
)

// stuck is a place that accepts no state and never releases its lock.
type stuck struct {
	backend.Backend
	locks chan struct{}
}

var errStuck = errors.New("no space left")

func (s stuck) Read(context.Context) (*backend.Object, error) { return nil, nil }

func (s stuck) Write(context.Context, *backend.Object, backend.Object) error { return errStuck }

func (s stuck) Lock(context.Context, backend.LockInfo) (backend.Lock, error) {
	select {
	case s.locks <- struct{}{}:
		return s, nil
	default:
		return nil, &backend.LockedError{Path: "stuck"}
	}
}

func (s stuck) Confirm(context.Context) error { return nil }

func (s stuck) Release(context.Context) error { return nil }

// TestCountingFailureReleasesWaiters checks that an operator who fails under the lock and keeps it fails the test,
// and does not make the others wait.
func TestCountingFailureReleasesWaiters(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s := stuck{locks: make(chan struct{}, 1)}
	if err := counting(ctx, func() backend.Backend { return s }, 3, 2); !errors.Is(err, errStuck) {
		t.Errorf("error = %v", err)
	}
}

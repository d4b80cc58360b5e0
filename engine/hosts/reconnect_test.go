package hosts

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubewright/kubewright/providers/ssh"

	"github.com/kubewright/kubewright/providers"

	"github.com/kubewright/kubewright/state"
)

// TestCutConnection: a host whose connection has ended is connected again by the next that
// needs it, through its bastion and by the key that it has shown; once, however many need
// it at the same time.
func TestCutConnection(t *testing.T) {
	t.Parallel()
	gate, host, cfg := behindGate(t)
	f, err := Open(cfg, nil, Options{Folder: t.TempDir(), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m := unprivileged(t, f.Members[0])
	look := func() *state.Report {
		r, err := (&observer{Hosts: f}).observe(t.Context(), m)
		if err != nil {
			t.Error(err)
			return &state.Report{}
		}
		return r
	}
	if seen := look(); seen.HostKey != host.Pin() {
		t.Fatalf("the key is %q", seen.HostKey)
	}
	before, err := m.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	gate.Cut()
	<-before.(*ssh.Host).Conn().Done()
	<-before.(*ssh.Host).Conn().Via().Done()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if seen := look(); seen.HostKey != host.Pin() || seen.HopKeys[gate.Addr()] != gate.Pin() {
				t.Errorf("it was connected anew by the keys %q and %v", seen.HostKey, seen.HopKeys)
			}
		})
	}
	all.Wait()
	if gate.Connections.Load() != 2 || host.Connections.Load() != 2 {
		t.Errorf("%d connections to the bastion and %d to the host, want 2 of each", gate.Connections.Load(), host.Connections.Load())
	}
	if _, err := before.Observe(t.Context(), state.Query{}); !errors.Is(err, providers.ErrDisconnected) {
		t.Errorf("the connection that was cut says %v", err)
	}
}

// lostHost is a host whose connection has ended.
type lostHost struct{ seenHost }

func (lostHost) Ended() error {
	return &providers.Error{Kind: providers.ErrDisconnected, Do: "use the connection to 10.0.0.1", Cause: errors.New("no sign of life for 30s")}
}

// TestOffHost: of a host that is off, each attempt to connect again keeps those who ask
// waiting once, and for less than it takes, so that they can ask another one. What they
// hear is that nothing was sent.
func TestOffHost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const dial = 10 * time.Second
		silence := &providers.Error{Kind: providers.ErrTimeout, Do: "log in to root@10.0.0.1:22", Cause: errors.New("no answer during the handshake")}
		attempts := 0
		m := &Member{Target: state.NodeKeyTarget("cp", "cp1"), host: lostHost{}}
		m.open = func(context.Context) (providers.Host, error) {
			time.Sleep(dial)
			if attempts++; attempts == 3 {
				return seenHost{}, nil
			}
			return nil, silence
		}
		began := time.Now()
		ask := func(want string, waited time.Duration) {
			t.Helper()
			asked := time.Now()
			h, err := m.Connect(t.Context())
			if waited != time.Since(asked) {
				t.Errorf("after %v somebody waited for %v, want %v", time.Since(began), time.Since(asked), waited)
			}
			if want == "" {
				if _, ok := h.(seenHost); !ok || err != nil {
					t.Errorf("after %v: %v, %v", time.Since(began), h, err)
				}
				return
			}
			if err == nil || !unservedKind(err) || !strings.Contains(err.Error(), want) {
				t.Errorf("after %v: %v, want %q", time.Since(began), err, want)
			}
		}
		early := `cannot reach node.cp["cp1"]: no new connection has come about in 5s, and of the one before: cannot use the connection to 10.0.0.1: no sign of life for 30s`
		ask(early, reopenPatience)
		for range 10 {
			ask(early, 0)
		}
		time.Sleep(dial - reopenPatience + time.Second)
		ask("no answer during the handshake", 0)
		time.Sleep(reopenPause)
		ask(early, reopenPatience)
		// Who gives up has nobody else's attempt end.
		time.Sleep(dial - time.Second)
		hasty, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := m.Connect(hasty); !errors.Is(err, providers.ErrUnreachable) {
			t.Errorf("within the pause: %v", err)
		}
		time.Sleep(reopenPause)
		hasty, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := m.Connect(hasty); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("who has a second hears %v", err)
		}
		time.Sleep(dial)
		ask("", 0)
	})
}

// unservedKind is the kind of error that has a caller ask another control plane.
func unservedKind(err error) bool {
	return errors.Is(err, providers.ErrUnreachable) && !errors.Is(err, providers.ErrDisconnected)
}

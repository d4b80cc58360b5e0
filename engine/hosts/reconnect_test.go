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

// TestLostConnectionIsReopenedOnce checks that a host whose connection has ended is reconnected by the next
// caller that needs it, through its bastion and with the key that it has shown; and only once
// for concurrent callers.
func TestLostConnectionIsReopenedOnce(t *testing.T) {
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
				t.Errorf("reconnected with the keys %q and %v", seen.HostKey, seen.HopKeys)
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

// TestReconnectToOffHostDelaysOnce checks that each attempt to reconnect a host that is off delays callers once, and
// for less time than the attempt takes, so that they can ask another host. Their error says
// that nothing was sent.
func TestReconnectToOffHostDelaysOnce(t *testing.T) {
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
				t.Errorf("after %v a caller waited for %v, want %v", time.Since(began), time.Since(asked), waited)
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
		// A caller that gives up does not end the attempt of others.
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
			t.Errorf("a caller with one second gets %v", err)
		}
		time.Sleep(dial)
		ask("", 0)
	})
}

// unservedKind reports whether an error makes the caller ask another control plane.
func unservedKind(err error) bool {
	return errors.Is(err, providers.ErrUnreachable) && !errors.Is(err, providers.ErrDisconnected)
}

package ssh_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/ssh"
)

func TestBastionsAreShared(t *testing.T) {
	t.Parallel()
	outer, outerTarget := newServer(t)
	inner, innerTarget := newServer(t)
	d := &ssh.Dialer{}
	defer func() { _ = d.Close() }()
	var wg sync.WaitGroup
	for range 5 {
		_, target := newServer(t)
		target.Bastions = []ssh.Target{outerTarget, innerTarget}
		wg.Go(func() {
			c, err := d.Dial(t.Context(), target)
			if err != nil {
				t.Error(err)
				return
			}
			var out bytes.Buffer
			if _, err := c.Exec(t.Context(), "echo through", nil, &out, nil); err != nil || out.String() != "through\n" {
				t.Errorf("got %q, %v", out.String(), err)
			}
			_ = c.Close()
		})
	}
	wg.Wait()
	if o, i := outer.Connections.Load(), inner.Connections.Load(); o != 1 || i != 1 {
		t.Errorf("%d and %d connections to the bastions, want 1 and 1", o, i)
	}
	if n := len(outer.Commands()) + len(inner.Commands()); n != 0 {
		t.Errorf("%d commands on bastions", n)
	}
}

// TestBastionIsSharedOnlyByEqualTargets checks that one target's trust, credentials and errors at a
// bastion do not apply to another target, in whichever order they dial.
func TestBastionIsSharedOnlyByEqualTargets(t *testing.T) {
	t.Parallel()
	wrongKey, _ := newKeyFile(t)
	otherPin := keyLine(newSigner(t))
	for name, test := range map[string]struct {
		change func(*ssh.Target)
		kind   error // nil: accepted
		shared bool
	}{
		"another pin":      {func(b *ssh.Target) { b.HostKeys = []string{otherPin} }, providers.ErrHostKeyChanged, false},
		"nothing known":    {func(b *ssh.Target) { b.HostKeys = nil }, providers.ErrHostKeyUnknown, false},
		"accepts new keys": {func(b *ssh.Target) { b.HostKeys, b.AcceptNewHostKeys = nil, true }, nil, false},
		"known as another": {func(b *ssh.Target) {
			b.HostKeys, b.KnownHosts = nil, []string{writeFile(t, "known_hosts", fmt.Sprintf("[127.0.0.1]:%d %s\n", b.Port, otherPin))}
		}, providers.ErrHostKeyChanged, false},
		"another key":     {func(b *ssh.Target) { b.Keys = []string{wrongKey} }, providers.ErrAuth, false},
		"another timeout": {func(b *ssh.Target) { b.Timeouts.Connect = time.Minute }, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, otherFirst := range []bool{false, true} {
				bastion, same := newServer(t)
				_, one := newServer(t)
				_, two := newServer(t)
				other := same
				test.change(&other)
				one.Bastions, two.Bastions = []ssh.Target{same}, []ssh.Target{other}
				d := &ssh.Dialer{}
				defer func() { _ = d.Close() }()
				attempts := []func(){
					func() { _, err := d.Dial(t.Context(), one); wantKind(t, err, nil) },
					func() { _, err := d.Dial(t.Context(), two); wantKind(t, err, test.kind) },
				}
				if otherFirst {
					slices.Reverse(attempts)
				}
				for _, attempt := range attempts {
					attempt()
				}
				if n := bastion.Connections.Load(); (n == 1) != test.shared {
					t.Errorf("%d connections to the bastion", n)
				}
			}
		})
	}
}

func TestLostBastionIsRedialled(t *testing.T) {
	t.Parallel()
	bastion, bastionTarget := newServer(t)
	_, target := newServer(t)
	target.Bastions = []ssh.Target{bastionTarget}
	d := &ssh.Dialer{}
	defer func() { _ = d.Close() }()
	c, err := d.Dial(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	bastion.Cut()
	<-c.Done()
	for { // the connection to the bastion detects it a moment later
		if c, err = d.Dial(t.Context(), target); err == nil {
			break
		}
		wantKind(t, err, providers.ErrUnreachable)
	}
	_ = c.Close()
}

// TestLostBastionFailsBeforeSending checks that a failed connection counts as one through which
// nothing was sent, even if the connection to the host in between was lost.
func TestLostBastionFailsBeforeSending(t *testing.T) {
	t.Parallel()
	s, target := newServer(t)
	c := dial(t, target)
	s.Cut()
	<-c.Done()
	_, err := c.DialContext(t.Context(), "tcp", "127.0.0.1:1")
	wantKind(t, err, providers.ErrUnreachable)
	if errors.Is(err, providers.ErrDisconnected) || !strings.Contains(err.Error(), "cannot use the connection to 127.0.0.1") {
		t.Errorf("got %v", err)
	}
}

func TestBastionWithWrongKeyIsDialledOnce(t *testing.T) {
	t.Parallel()
	bastion, bastionTarget := newServer(t)
	wrong, _ := newKeyFile(t)
	bastionTarget.Keys = []string{wrong}
	_, target := newServer(t)
	target.Bastions = []ssh.Target{bastionTarget}
	d := &ssh.Dialer{}
	defer func() { _ = d.Close() }()
	for range 10 {
		_, err := d.Dial(t.Context(), target)
		wantKind(t, err, providers.ErrAuth)
		if err != nil && !strings.Contains(err.Error(), "through bastion 127.0.0.1") {
			t.Errorf("got %v", err)
		}
	}
	if n := bastion.Connections.Load(); n != 1 {
		t.Errorf("%d connections with a key that is refused, want 1", n)
	}
}

func TestBastionWithoutForwarding(t *testing.T) {
	t.Parallel()
	_, bastionTarget := newServer(t, func(s *server) { s.NoForwarding = true })
	_, target := newServer(t)
	target.Bastions = []ssh.Target{bastionTarget}
	_, err := ssh.Dial(t.Context(), target)
	wantKind(t, err, providers.ErrNoForwarding)
}

// TestBastionToOtherMachineFailsAtHostKey checks that a bastion that leads to another machine than requested
// fails at its host key.
func TestBastionToOtherMachineFailsAtHostKey(t *testing.T) {
	t.Parallel()
	_, bastionTarget := newServer(t)
	_, target := newServer(t)
	liar, liarTarget := newServer(t)
	target.Bastions, target.Port = []ssh.Target{bastionTarget}, liarTarget.Port
	_, err := ssh.Dial(t.Context(), target)
	wantKind(t, err, providers.ErrHostKeyChanged)
	if n := liar.Attempts.Load(); n != 0 {
		t.Errorf("%d attempts to log in", n)
	}
}

func TestStallBehindBastionIsGivenUp(t *testing.T) {
	t.Parallel()
	_, bastionTarget := newServer(t)
	s, target := newServer(t)
	for _, bytes := range []int64{0, 30, 1200} {
		target := target
		target.Timeouts = quick
		target.Bastions = []ssh.Target{bastionTarget}
		target.Port = newProxy(t, s.Addr(), bytes, -1, stall).Port()
		_, err := ssh.Dial(t.Context(), target)
		wantKind(t, err, providers.ErrTimeout)
	}
}

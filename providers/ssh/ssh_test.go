package ssh_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	xssh "golang.org/x/crypto/ssh"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/shell"
	"github.com/kubewright/kubewright/providers/ssh"
)

// quick are timeouts for stalling servers.
var quick = ssh.Timeouts{Connect: 5 * time.Second, Handshake: 150 * time.Millisecond, Auth: 150 * time.Millisecond}

// newServer starts a server and returns a target that may log in there.
func newServer(t *testing.T, options ...func(*server)) (*server, ssh.Target) {
	t.Helper()
	key, public := newKeyFile(t)
	s := startServer(t, append(options, authorize(public))...)
	return s, ssh.Target{Address: "127.0.0.1", Port: s.Port(), User: "core", Keys: []string{key}, HostKeys: []string{s.Pin()}}
}

func dial(t *testing.T, target ssh.Target) *ssh.Conn {
	t.Helper()
	c, err := ssh.Dial(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func wantKind(t *testing.T, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("got error %v, want kind %q", err, kind)
	}
}

func wantText(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("got error %v, want one that says %q", err, text)
	}
}

func wantRemedy(t *testing.T, err error, remedy string) {
	t.Helper()
	if got := providers.RemedyOf(err); got != remedy {
		t.Errorf("the remedy for %v is %q, want %q", err, got, remedy)
	}
}

func TestExecReturnsOutputAndExitCode(t *testing.T) {
	t.Parallel()
	s, target := newServer(t)
	c := dial(t, target)
	big := strings.Repeat("0123456789abcdef", 1<<18) // 4 MiB, twice a channel's window
	for _, test := range []struct {
		name, command, stdin, stdout, stderr string
		exit                                 int
	}{
		{"output", "echo out; echo err >&2", "", "out\n", "err\n", 0},
		{"exit code", "exit 7", "", "", "", 7},
		{"input", "cat", big, big, "", 0},
		{"input not read", "echo done", big, "done\n", "", 0},
		{"input not read, failure", "exit 3", big, "", "", 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			exit, err := c.Exec(t.Context(), test.command, strings.NewReader(test.stdin), &stdout, &stderr)
			if err != nil || exit != test.exit || stdout.String() != test.stdout || stderr.String() != test.stderr {
				t.Errorf("exit %d, error %v, %d bytes out, %q", exit, err, stdout.Len(), stderr.String())
			}
		})
	}
	t.Cleanup(func() {
		if n := s.Unwanted.Load(); n != 0 {
			t.Errorf("%d requests for an agent, a terminal or the like", n)
		}
	})
}

func TestExecEndsWithItsContext(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	defer close(release)
	_, target := newServer(t, func(s *server) {
		s.Run = func(_ string, ch xssh.Channel) int {
			_, _ = io.WriteString(ch, "started\n")
			<-release
			return 0
		}
	})
	c := dial(t, target)
	ctx, cancel := context.WithCancel(t.Context())
	started := writerFunc(func(p []byte) (int, error) { cancel(); return len(p), nil })
	_, err := c.Exec(ctx, "hang", nil, started, io.Discard)
	wantKind(t, err, context.Canceled)

	ctx, cancel = context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err = c.Exec(ctx, "hang", nil, io.Discard, io.Discard)
	wantKind(t, err, providers.ErrTimeout)
}

// TestExecWritesNothingAfterReturn checks that an Exec that returns early waits for a
// write to the caller's output that is under way, and lets no other one through.
func TestExecWritesNothingAfterReturn(t *testing.T) {
	t.Parallel()
	_, target := newServer(t, func(s *server) {
		s.Run = func(_ string, ch xssh.Channel) int {
			for line := []byte(strings.Repeat("x", 1<<10)); ; {
				if _, err := ch.Write(line); err != nil {
					return 1
				}
			}
		}
	})
	c := dial(t, target)
	ctx, cancel := context.WithCancel(t.Context())
	returned := make(chan struct{})
	out := writerFunc(func(p []byte) (int, error) {
		cancel()
		select {
		case <-returned:
			t.Error("it has returned and continues to write")
			return 0, io.ErrClosedPipe
		case <-time.After(100 * time.Millisecond): // time for a wrong return to show
			return len(p), nil
		}
	})
	_, err := c.Exec(ctx, "flood", nil, out, io.Discard)
	close(returned)
	wantKind(t, err, context.Canceled)
	_ = c.Close()
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestExecAfterLostConnection(t *testing.T) {
	t.Parallel()
	_, target := newServer(t, func(s *server) {
		s.Run = func(string, xssh.Channel) int { s.Cut(); return 0 }
	})
	c := dial(t, target)
	_, err := c.Exec(t.Context(), "x", nil, io.Discard, io.Discard)
	wantKind(t, err, providers.ErrDisconnected)
	<-c.Done()
	_, err = c.Exec(t.Context(), "x", nil, io.Discard, io.Discard)
	wantKind(t, err, providers.ErrDisconnected)
}

func TestExecWaitsForSession(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 2, 10, 0} {
		s, target := newServer(t, func(s *server) { s.MaxSessions = limit })
		c := dial(t, target)
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				var out bytes.Buffer
				if _, err := c.Exec(t.Context(), "echo ok", nil, &out, nil); err != nil || out.String() != "ok\n" {
					t.Errorf("MaxSessions %d: got %q, %v", limit, out.String(), err)
				}
			})
		}
		wg.Wait()
		if n := s.MostSessions.Load(); n > 8 {
			t.Errorf("%d sessions at once, want 8 at most", n)
		}
	}
}

// TestExecRetriesRefusedSessions checks that many commands that wait for the one session of a server
// that frees it late all get it, although some are refused at first.
func TestExecRetriesRefusedSessions(t *testing.T) {
	t.Parallel()
	_, target := newServer(t, func(s *server) { s.MaxSessions, s.Late = 1, 2 })
	c := dial(t, target)
	var wg sync.WaitGroup
	for range 12 {
		wg.Go(func() {
			var out bytes.Buffer
			if _, err := c.Exec(t.Context(), "echo ok", nil, &out, nil); err != nil || out.String() != "ok\n" {
				t.Errorf("got %q, %v", out.String(), err)
			}
		})
	}
	wg.Wait()
}

// TestServerWithoutSessionsIsAnError checks the error for a server that opens no session at all.
func TestServerWithoutSessionsIsAnError(t *testing.T) {
	t.Parallel()
	_, target := newServer(t, func(s *server) { s.MaxSessions = -1 })
	_, err := dial(t, target).Exec(t.Context(), "true", nil, nil, nil)
	wantKind(t, err, providers.ErrUnreachable)
	wantText(t, err, "the host opens no session: open failed")
}

// TestUnansweredRequestsAreGivenUp checks that a host that accepts the login and answers keepalives
// but no other request is given up each time, however many requests are made.
func TestUnansweredRequestsAreGivenUp(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"session", "exec", "direct-tcpip"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			_, target := newServer(t, func(s *server) { s.Ignores = func(asked string) bool { return asked == kind } })
			target.Timeouts.Open = 50 * time.Millisecond
			c := dial(t, target)
			if kind == "direct-tcpip" {
				_, err := c.DialContext(t.Context(), "tcp", "127.0.0.1:1")
				wantKind(t, err, providers.ErrUnreachable)
				wantText(t, err, "the host has not answered the request to connect for 50ms, although the connection lives: see what its sshd does")
				return
			}
			var all sync.WaitGroup
			for range 12 { // more than there are places
				all.Go(func() {
					_, err := c.Exec(t.Context(), "true", nil, io.Discard, io.Discard)
					wantText(t, err, "the host has not answered the request to ")
				})
			}
			all.Wait()
		})
	}
}

func TestForwardingConnects(t *testing.T) {
	t.Parallel()
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = echo.Close() }()
	go func() {
		if conn, err := echo.Accept(); err == nil {
			_, _ = io.Copy(conn, conn)
			_ = conn.Close()
		}
	}()
	_, target := newServer(t)
	c := dial(t, target)
	conn, err := c.DialContext(t.Context(), "tcp", echo.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(conn, "hello\n")
	buf := make([]byte, 6)
	if _, err := io.ReadFull(conn, buf); err != nil || string(buf) != "hello\n" {
		t.Errorf("got %q, %v", buf, err)
	}
	_ = conn.Close()

	closed, _ := net.Listen("tcp", "127.0.0.1:0")
	_ = closed.Close()
	_, err = c.DialContext(t.Context(), "tcp", closed.Addr().String())
	wantKind(t, err, providers.ErrUnreachable)
	wantKind(t, err, providers.ErrRefused)
	_ = c.Close()
	_, err = c.DialContext(t.Context(), "tcp", closed.Addr().String())
	if !errors.Is(err, providers.ErrUnreachable) || errors.Is(err, providers.ErrRefused) {
		t.Errorf("without a connection to the host it says %v", err)
	}

	_, target = newServer(t, func(s *server) { s.NoForwarding = true })
	_, err = dial(t, target).DialContext(t.Context(), "tcp", echo.Addr().String())
	wantKind(t, err, providers.ErrNoForwarding)
}

// TestDirectConnectionsFollowConfiguration checks that for a host that forbids forwarding this machine itself connects
// to addresses of the configuration, and to none that a host names.
func TestDirectConnectionsFollowConfiguration(t *testing.T) {
	t.Parallel()
	_, target := newServer(t, func(s *server) { s.NoForwarding = true })
	c := dial(t, target)
	var asked []string
	never := shell.Options{Direct: func(address string) bool { asked = append(asked, address); return false }}
	for _, address := range []string{"192.0.2.77:2379", "etcd.example.com:2379"} {
		for _, o := range []shell.Options{never, {}} {
			_, err := ssh.NewHost(c, o).DialContext(t.Context(), "tcp", address)
			wantKind(t, err, providers.ErrNoForwarding)
			if want := "cannot connect to " + address + " from 127.0.0.1: its sshd forbids forwarding, and this machine connects itself to addresses of the configuration alone"; !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		}
	}
	if !slices.Equal(asked, []string{"192.0.2.77:2379", "etcd.example.com:2379"}) {
		t.Errorf("asked for %v", asked)
	}
	// An address of the configuration is tried: there is no such name.
	_, err := ssh.NewHost(c, shell.Options{Direct: func(string) bool { return true }}).DialContext(t.Context(), "tcp", "no-such-name.invalid:1")
	if err == nil || !strings.Contains(err.Error(), "no-such-name.invalid") || strings.Contains(err.Error(), "addresses of the configuration alone") {
		t.Errorf("got %v", err)
	}
}

func TestUnreachableHostIsAnError(t *testing.T) {
	t.Parallel()
	closed, _ := net.Listen("tcp", "127.0.0.1:0")
	_ = closed.Close()
	_, target := newServer(t)
	target.Port = closed.Addr().(*net.TCPAddr).Port
	_, err := ssh.Dial(t.Context(), target)
	wantKind(t, err, providers.ErrUnreachable)

	for address, text := range map[string]string{
		"": "host is empty", "-oProxyCommand=x": `host "-oProxyCommand=x" begins with a dash`, "a b": "contains", "a\nb": "contains", "a$(x)": "contains",
	} {
		target.Address = address
		_, err := ssh.Dial(t.Context(), target)
		wantText(t, err, "cannot connect to host: ")
		wantText(t, err, text)
	}
	target.Address, target.Port = "127.0.0.1", 70000
	_, err = ssh.Dial(t.Context(), target)
	wantText(t, err, "port 70000 is not between 1 and 65535")
}

// TestStallDuringDialIsGivenUp stops forwarding silently after every few bytes from the server, and so at each
// message of the handshake and of the authentication.
func TestStallDuringDialIsGivenUp(t *testing.T) {
	t.Parallel()
	s, target := newServer(t)
	target.Timeouts = quick
	failed := 0
	var mu sync.Mutex
	var wg sync.WaitGroup
	for bytes := int64(0); bytes < 3000; bytes += 75 {
		wg.Go(func() {
			target := target
			target.Port = newProxy(t, s.Addr(), bytes, -1, stall).Port()
			c, err := ssh.Dial(t.Context(), target)
			if err == nil {
				_ = c.Close()
				return
			}
			wantKind(t, err, providers.ErrTimeout)
			wantText(t, err, "no answer during the ")
			mu.Lock()
			failed++
			mu.Unlock()
		})
	}
	wg.Wait()
	if failed < 10 {
		t.Errorf("only %d stalls were during the handshake", failed)
	}
}

// TestSilentServerEndsAtConnectTimeout checks that a server that accepts connections but sends nothing is
// waited for as long as connecting may take.
func TestSilentServerEndsAtConnectTimeout(t *testing.T) {
	t.Parallel()
	s, target := newServer(t)
	target.Port, target.Timeouts.Connect = newProxy(t, s.Addr(), 0, -1, stall).Port(), time.Second
	began := time.Now()
	_, err := ssh.Dial(t.Context(), target)
	wantKind(t, err, providers.ErrTimeout)
	wantText(t, err, "no answer during the handshake")
	if took := time.Since(began); took < time.Second || took > 10*time.Second {
		t.Errorf("the wait took %v", took)
	}
}

func TestConnectionLostDuringHandshake(t *testing.T) {
	t.Parallel()
	s, target := newServer(t)
	for _, bytes := range []int64{0, 10, 400, 1200} {
		target.Port = newProxy(t, s.Addr(), bytes, -1, cut).Port()
		_, err := ssh.Dial(t.Context(), target)
		wantKind(t, err, providers.ErrUnreachable)
	}
}

func TestKeepaliveNoticesSilence(t *testing.T) {
	t.Parallel()
	s, target := newServer(t)
	proxy := newProxy(t, s.Addr(), -1, -1, stall)
	target.Port = proxy.Port()
	target.Timeouts = ssh.Timeouts{Keepalive: 250 * time.Millisecond, KeepaliveMisses: 3}
	c := dial(t, target)
	if _, err := c.Exec(t.Context(), "true", nil, nil, nil); err != nil {
		t.Fatal(err)
	}
	proxy.Freeze()
	<-c.Done()
	wantKind(t, c.Err(), providers.ErrDisconnected)
	if !strings.Contains(c.Err().Error(), "no sign of life") {
		t.Errorf("got %v", c.Err())
	}
}

func TestDialEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s, target := newServer(t)
	target.Port = newProxy(t, s.Addr(), 30, -1, stall).Port()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	_, err := ssh.Dial(ctx, target)
	wantKind(t, err, providers.ErrTimeout)
}

// writeFile writes a file in a folder of the test and returns its path.
func writeFile(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

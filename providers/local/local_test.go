package local_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/user"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/hosttest"
	"github.com/kubewright/kubewright/providers/local"
	"github.com/kubewright/kubewright/providers/shell"
)

// ownRoot returns options for a host whose files are in a folder of the test.
func ownRoot(t *testing.T) shell.Options {
	t.Helper()
	root := t.TempDir()
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(root+"/etc", 0o755); err != nil {
		t.Fatal(err)
	}
	return shell.Options{Root: root, Unprivileged: true}
}

// owner returns USER:GROUP of the user who runs the test.
func owner(t *testing.T) string {
	t.Helper()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	g, err := user.LookupGroupId(u.Gid)
	if err != nil {
		t.Fatal(err)
	}
	return u.Username + ":" + g.Name
}

func TestLocalHostConformance(t *testing.T) {
	t.Parallel()
	hosttest.Run(t, func(t *testing.T) hosttest.Subject {
		o := ownRoot(t)
		return hosttest.Subject{
			Host:  local.New(o),
			Owner: owner(t),
			Root:  o.Root,
			Again: func(*testing.T) providers.Host { return local.New(o) },
		}
	})
}

func TestExecReturnsOutputAndExitCode(t *testing.T) {
	t.Parallel()
	var out, errOut bytes.Buffer
	exit, err := local.Machine{}.Exec(t.Context(), "cat; echo e >&2; exit 3", strings.NewReader("in"), &out, &errOut)
	if err != nil || exit != 3 || out.String() != "in" || errOut.String() != "e\n" {
		t.Errorf("exit %d, %v, %q, %q", exit, err, out.String(), errOut.String())
	}
	if exit, err := (local.Machine{}).Exec(t.Context(), "kill -TERM $$", nil, nil, nil); exit != 128+15 || err != nil {
		t.Errorf("exit %d, %v", exit, err)
	}
}

// TestRefusedConnectionIsDistinguished checks that a refused connection is distinguished from other errors.
func TestRefusedConnectionIsDistinguished(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	_, err = local.Machine{}.DialContext(t.Context(), "tcp", address)
	if !errors.Is(err, providers.ErrUnreachable) || !errors.Is(err, providers.ErrRefused) || err.Error() != "cannot connect to "+address+": connection refused" {
		t.Errorf("got %v", err)
	}
	_, err = local.Machine{Direct: func(string) bool { return true }}.DialContext(t.Context(), "tcp", "no-such-name.invalid:1")
	if !errors.Is(err, providers.ErrUnreachable) || errors.Is(err, providers.ErrRefused) {
		t.Errorf("got %v", err)
	}
}

// TestForwardRefusesAddressNamedByHost checks that an address that is neither this machine's nor the
// configuration's, as another host may name one, is not connected to.
func TestForwardRefusesAddressNamedByHost(t *testing.T) {
	t.Parallel()
	var asked []string
	m := local.Machine{Direct: func(address string) bool { asked = append(asked, address); return false }}
	for _, address := range []string{"192.0.2.77:6443", "api.example.com:6443", "[2001:db8::7]:2379"} {
		for _, m := range []local.Machine{m, {}} {
			if _, err := m.DialContext(t.Context(), "tcp", address); !errors.Is(err, providers.ErrNoForwarding) || !strings.Contains(err.Error(), "cannot connect to "+address+": it is neither this machine's address") {
				t.Errorf("%s: %v", address, err)
			}
		}
	}
	if len(asked) != 3 {
		t.Errorf("asked for %v", asked)
	}
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		ip := a.(*net.IPNet).IP
		if ip.IsLinkLocalUnicast() {
			continue // which requires the name of the interface
		}
		conn, err := m.DialContext(t.Context(), "tcp", net.JoinHostPort(ip.String(), strconv.Itoa(l.Addr().(*net.TCPAddr).Port)))
		if err != nil {
			t.Errorf("its own address: %v", err)
			continue
		}
		_ = conn.Close()
	}
}

// TestExecEndsWithItsContext checks that the command's children end as well.
func TestExecEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	go func() {
		_, _ = r.Read(make([]byte, 1))
		cancel()
		_, _ = io.Copy(io.Discard, r)
	}()
	if _, err := (local.Machine{}).Exec(ctx, "sleep 1000 & echo x; wait", nil, w, nil); err == nil || err.Error() != "cannot run a command on this machine: context canceled" {
		t.Errorf("got %v", err)
	}
	for want, c := range map[string]struct {
		shell string
		ended context.Context
	}{
		"cannot run a command on this machine: context deadline exceeded":                           {"", past(t)},
		"cannot run a command on this machine: fork/exec /no/such/shell: no such file or directory": {"/no/such/shell", t.Context()},
	} {
		if _, err := (local.Machine{Shell: c.shell}).Exec(c.ended, "true", nil, nil, nil); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestExecEndsChildrenWithContext checks that when the context ends, the command's children end as
// well, and do not keep changing the machine after the caller has moved on. A process that
// has left the command's process group is not waited for.
func TestExecEndsChildrenWithContext(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command string
		dies    bool
	}{
		"in the background": {"sleep 1000 & echo $!; wait", true},
		"in a subshell":     {"(sleep 1000; :) & echo $!; wait", true},
		"in its own group":  {"setsid sleep 1000 & echo $!; wait", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r, w := io.Pipe()
			pid := make(chan int, 1)
			go func() {
				var n int
				_, _ = fmt.Fscanln(r, &n)
				pid <- n
				cancel()
				_, _ = io.Copy(io.Discard, r)
			}()
			if _, err := (local.Machine{}).Exec(ctx, c.command, nil, w, nil); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			n := <-pid
			if n <= 1 {
				t.Fatalf("it has id %d", n)
			}
			t.Cleanup(func() { _ = syscall.Kill(n, syscall.SIGKILL) })
			if !c.dies {
				return
			}
			for deadline := time.Now().Add(30 * time.Second); runs(n); time.Sleep(10 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("it still runs")
				}
			}
		})
	}
}

// runs reports whether a process runs and is not a zombie.
func runs(pid int) bool {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	return err == nil && !strings.Contains(string(status), "State:\tZ")
}

// TestExecExitCodeWhileOutputIsOpen checks that the exit code is the command's, even if a
// child keeps its output open.
func TestExecExitCodeWhileOutputIsOpen(t *testing.T) {
	t.Parallel()
	for _, want := range []int{0, 3} {
		var out bytes.Buffer
		exit, err := local.Machine{}.Exec(t.Context(), "sleep 1000 & echo $!; exit "+strconv.Itoa(want), nil, &out, nil)
		if exit != want || err != nil {
			t.Errorf("exit %d, %v, want %d", exit, err, want)
		}
		if pid, err := strconv.Atoi(strings.TrimSpace(out.String())); err != nil || pid <= 1 {
			t.Errorf("it has printed %q", out.String())
		} else {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// past returns a context whose deadline has passed.
func past(t *testing.T) context.Context {
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	t.Cleanup(cancel)
	return ctx
}

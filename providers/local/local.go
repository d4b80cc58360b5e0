// Package local is the machine that kubewright itself runs on, as a host. It runs commands
// through os/exec and connects directly; everything else is providers/shell, as over SSH,
// so that nothing can behave differently.
package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/shell"
)

// Name is the host's name in errors.
const Name = "this machine"

// New returns this machine as a host.
func New(o shell.Options) *shell.Host { return shell.New(Name, Machine{Direct: o.Direct}, o) }

// Machine runs command lines on this machine. The zero Machine uses /bin/sh.
type Machine struct {
	// Shell is called as SHELL -c COMMAND, as a login shell would be.
	Shell string
	// Direct reports which addresses besides this machine's own may be connected to; nil
	// for none. Other addresses come from another host, as the client URLs of etcd do.
	Direct func(address string) bool
}

// killGrace is how long a killed command's children may keep its output open.
const killGrace = time.Second

// Exec implements shell.Transport. When the context ends the command's whole
// process group is killed.
func (m Machine) Exec(ctx context.Context, command string, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	sh := m.Shell
	if sh == "" {
		sh = "/bin/sh"
	}
	cmd := exec.CommandContext(ctx, sh, "-c", command)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = killGrace
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return 0, &providers.Error{Kind: providers.ErrTimeout, Do: "run a command on " + Name, Cause: ctx.Err()}
	case ctx.Err() != nil:
		return 0, fmt.Errorf("cannot run a command on %s: %w", Name, ctx.Err())
	case err == nil, errors.Is(err, syscall.EPIPE), errors.Is(err, exec.ErrWaitDelay):
		return cmd.ProcessState.ExitCode(), nil
	case errors.As(err, &exit):
		return exitCode(exit), nil
	}
	return 0, &providers.Error{Kind: providers.ErrUnsupported, Do: "run a command on " + Name, Cause: err}
}

// exitCode is 128 + n after signal n, as in a shell.
func exitCode(exit *exec.ExitError) int {
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return exit.ExitCode()
}

// DialContext connects to this machine's own addresses, and to those of Direct.
func (m Machine) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if !own(address) && (m.Direct == nil || !m.Direct(address)) {
		return nil, &providers.Error{Kind: providers.ErrNoForwarding, Do: "connect to " + address, Cause: errHostsWord}
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if errors.Is(err, syscall.ECONNREFUSED) {
		err = providers.ErrRefused
	}
	if err != nil && ctx.Err() == nil {
		return nil, &providers.Error{Kind: providers.ErrUnreachable, Do: "connect to " + address, Cause: err}
	}
	return conn, err
}

var errHostsWord = errors.New("it is neither this machine's address nor in the configuration: name it there if it is the cluster's")

// own reports whether an address, host:port, is this machine's.
func own(address string) bool {
	name, _, err := net.SplitHostPort(address)
	if err != nil || name == "localhost" {
		return err == nil
	}
	ip := net.ParseIP(name)
	if ip == nil || ip.IsLoopback() {
		return ip != nil
	}
	addresses, err := net.InterfaceAddrs()
	return err == nil && slices.ContainsFunc(addresses, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		return ok && n.IP.Equal(ip)
	})
}

// Close does nothing.
func (Machine) Close() error { return nil }

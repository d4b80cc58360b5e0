package lab

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
)

// hosts are the hosts of a lab, with operations on them by name.
type hosts struct{ *layout }

// Command prepares a command that runs on a host as root, in its namespaces and with a login's
// environment; the caller sets its streams and runs it. It does not run in the host's cgroup, so
// commands can inspect a paused host.
func (l hosts) Command(ctx context.Context, host string, argv ...string) (*exec.Cmd, error) {
	g, err := l.guest(host)
	if err != nil {
		return nil, err
	}
	return g.command(ctx, argv...)
}

// Exec runs a command on a host as root and returns its standard output. The error of a failure
// contains the tail of all output.
func (l hosts) Exec(ctx context.Context, host string, argv ...string) ([]byte, error) {
	return l.ExecInput(ctx, host, "", argv...)
}

// ExecInput is Exec with a standard input.
func (l hosts) ExecInput(ctx context.Context, host, input string, argv ...string) ([]byte, error) {
	g, err := l.guest(host)
	if err != nil {
		return nil, err
	}
	return g.exec(ctx, input, argv...)
}

// PutFile copies a file of the operator to a host, owned by root.
func (l hosts) PutFile(ctx context.Context, host, from, to, mode string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	const script = `mkdir -p "$1" && cat >"$2" && chmod "$3" "$2"`
	_, err = l.ExecInput(ctx, host, string(text), "sh", "-c", script, "sh", filepath.Dir(to), to, mode)
	return err
}

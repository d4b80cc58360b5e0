package lab

import (
	"context"
	"fmt"
	"os"

	"github.com/kubewright/kubewright/cmd/lab/internal/process"
)

// Kill cuts a host's power: all its processes end at once, what is on its disks
// stays. Its network card goes dead too.
func (l *Lab) Kill(ctx context.Context, host string) error {
	if _, err := l.Host(host); err != nil {
		return err
	}
	group := l.names().cgroup(host)
	if err := group.Kill(ctx); err != nil {
		return fmt.Errorf("cannot kill host %s: %w", host, err)
	}
	if err := group.Remove(ctx); err != nil {
		return err
	}
	return l.names().networkDown(ctx, host)
}

// Start boots a killed host again and waits until it is ready.
func (l *Lab) Start(ctx context.Context, host string) error {
	h, err := l.Host(host)
	if err != nil {
		return err
	}
	if _, err := l.pid1(host); err == nil {
		return nil
	}
	if err := l.networkUp(ctx, h); err != nil {
		return err
	}
	return l.boot(ctx, h)
}

// Restart is Kill and Start. Rules, routes and links that the host had made are
// gone then, as after any reboot.
func (l *Lab) Restart(ctx context.Context, host string) error {
	if err := l.Kill(ctx, host); err != nil {
		return err
	}
	return l.Start(ctx, host)
}

// Reinstall makes a host again under its name and addresses, with disks, machine
// id and SSH host keys of its own, and boots it. The lab's known hosts have its
// new keys; its network card goes dead in between.
func (l *Lab) Reinstall(ctx context.Context, host string) error {
	h, err := l.Host(host)
	if err != nil {
		return err
	}
	if err := l.Kill(ctx, host); err != nil {
		return err
	}
	if err := unmountBelow(l.hostDir(host)); err != nil {
		return err
	}
	if err := os.RemoveAll(l.hostDir(host)); err != nil {
		return err
	}
	if err := l.writeHostKeys(h); err != nil {
		return err
	}
	if err := l.writeKnownHosts(); err != nil {
		return err
	}
	return l.hostUp(ctx, h)
}

// Pause stops all processes of a host where they are. Its kernel still accepts
// connections, which then hang: the unkindest way to fail.
func (l *Lab) Pause(_ context.Context, host string) error { return l.freeze(host, true) }

// Resume lets a paused host go on.
func (l *Lab) Resume(_ context.Context, host string) error { return l.freeze(host, false) }

func (l *Lab) freeze(host string, frozen bool) error {
	if _, err := l.Host(host); err != nil {
		return err
	}
	return l.names().cgroup(host).Freeze(frozen)
}

// Disconnect pulls a host's network cable.
func (l *Lab) Disconnect(ctx context.Context, host string) error { return l.setLink(ctx, host, "down") }

// Connect plugs a host's network cable in.
func (l *Lab) Connect(ctx context.Context, host string) error { return l.setLink(ctx, host, "up") }

func (l *Lab) setLink(ctx context.Context, host, state string) error {
	if _, err := l.Host(host); err != nil {
		return err
	}
	return process.Run(ctx, "ip", "link", "set", l.names().link(host), state)
}

// State says in a word how a host is: running, paused, or down.
func (l *Lab) State(host string) string {
	if _, err := l.pid1(host); err != nil {
		return "down"
	}
	if l.names().cgroup(host).Frozen() {
		return "paused"
	}
	return "running"
}

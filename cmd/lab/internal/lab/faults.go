package lab

import (
	"context"
	"fmt"
	"os"

	"github.com/kubewright/kubewright/cmd/lab/internal/process"
)

// Kill cuts a host's power: all its processes end at once, its disks keep their data. Its network
// interface goes down as well.
func (l hosts) Kill(ctx context.Context, host string) error {
	g, err := l.guest(host)
	if err != nil {
		return err
	}
	return g.kill(ctx)
}

// kill ends the host's processes and its network.
func (g guest) kill(ctx context.Context) error {
	group := g.lab.names().cgroup(g.Name)
	if err := group.Kill(ctx); err != nil {
		return fmt.Errorf("cannot kill host %s: %w", g.Name, err)
	}
	if err := group.Remove(ctx); err != nil {
		return err
	}
	return g.lab.names().networkDown(ctx, g.Name)
}

// Start boots a killed host again and waits until it is ready.
func (l hosts) Start(ctx context.Context, host string) error {
	g, err := l.guest(host)
	if err != nil {
		return err
	}
	if _, err := g.pid1(); err == nil {
		return nil
	}
	if err := g.networkUp(ctx); err != nil {
		return err
	}
	return g.boot(ctx)
}

// Restart is Kill and Start. Rules, routes and links that the host had created are gone
// afterwards, as after any reboot.
func (l hosts) Restart(ctx context.Context, host string) error {
	if err := l.Kill(ctx, host); err != nil {
		return err
	}
	return l.Start(ctx, host)
}

// Reinstall installs a host again under its name and addresses, with new disks, machine ID and
// SSH host keys, and boots it. The lab's known_hosts file gets its new keys; its network
// interface is down in between.
func (l hosts) Reinstall(ctx context.Context, host string) error {
	g, err := l.guest(host)
	if err != nil {
		return err
	}
	if err := g.kill(ctx); err != nil {
		return err
	}
	if err := unmountBelow(g.dir()); err != nil {
		return err
	}
	if err := os.RemoveAll(g.dir()); err != nil {
		return err
	}
	if err := g.writeKeys(); err != nil {
		return err
	}
	if err := l.writeKnownHosts(); err != nil {
		return err
	}
	return g.up(ctx)
}

// Pause freezes all processes of a host. Its kernel still accepts connections, which then hang:
// the worst way to fail.
func (l hosts) Pause(_ context.Context, host string) error { return l.freeze(host, true) }

// Resume thaws a paused host.
func (l hosts) Resume(_ context.Context, host string) error { return l.freeze(host, false) }

func (l hosts) freeze(host string, frozen bool) error {
	g, err := l.guest(host)
	if err != nil {
		return err
	}
	return l.names().cgroup(g.Name).Freeze(frozen)
}

// Disconnect takes a host's network link down.
func (l hosts) Disconnect(ctx context.Context, host string) error {
	return l.setLink(ctx, host, "down")
}

// Connect brings a host's network link up.
func (l hosts) Connect(ctx context.Context, host string) error { return l.setLink(ctx, host, "up") }

func (l hosts) setLink(ctx context.Context, host, state string) error {
	g, err := l.guest(host)
	if err != nil {
		return err
	}
	return process.Run(ctx, "ip", "link", "set", l.names().link(g.Name), state)
}

// State returns the state of a host: running, paused, or down.
func (l hosts) State(host string) string {
	g, err := l.guest(host)
	if err != nil {
		return "down"
	}
	if _, err := g.pid1(); err != nil {
		return "down"
	}
	if l.names().cgroup(host).Frozen() {
		return "paused"
	}
	return "running"
}

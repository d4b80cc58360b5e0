package lab

import (
	"context"
	"os"

	"github.com/kubewright/kubewright/cmd/lab/internal/build"
	"github.com/kubewright/kubewright/cmd/lab/internal/process"
)

// InstallPrograms replaces Kubernetes' programs on a host with those of another release, as a
// package upgrade would: kubeadm, kubelet, kubectl or crictl.
func (l *Lab) InstallPrograms(ctx context.Context, host, version string, names ...string) error {
	g, err := l.guest(host)
	if err != nil {
		return err
	}
	release, err := build.FindRelease(version)
	if err != nil {
		return err
	}
	paths, err := l.cache.Programs(ctx, release, names...)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := g.install(ctx, paths[name], "/usr/bin/"+name); err != nil {
			return err
		}
	}
	return nil
}

// install copies a program onto a host, first beside its target, because a running program cannot
// be written.
func (g guest) install(ctx context.Context, from, to string) error {
	file, err := os.Open(from)
	if err != nil {
		return err
	}
	defer file.Close()
	cmd, err := g.command(ctx, "sh", "-euc", `cat >"$1.new"; chmod 755 "$1.new"; mv "$1.new" "$1"`, "sh", to)
	if err != nil {
		return err
	}
	cmd.Stdin = file
	_, err = process.Output(cmd)
	return err
}

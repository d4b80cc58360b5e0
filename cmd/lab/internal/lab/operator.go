package lab

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/kubewright/kubewright/cmd/lab/internal/build"
	"github.com/kubewright/kubewright/cmd/lab/internal/process"
)

// Kubeconfig returns the administrator's kubeconfig of a control plane, changed
// so that it works on this machine, where nobody knows the endpoint's name.
func (l *Lab) Kubeconfig(ctx context.Context, host string) ([]byte, error) {
	text, err := l.Exec(ctx, host, "cat", "/etc/kubernetes/admin.conf")
	if err != nil {
		return nil, err
	}
	name, address := l.Endpoint()
	there := fmt.Sprintf("server: https://%s:%d", name, address.Port())
	here := fmt.Sprintf("server: https://%s\n    tls-server-name: %s", address, name)
	return []byte(strings.Replace(string(text), there, here, 1)), nil
}

// InstallPrograms replaces Kubernetes' programs on a host by those of another
// release, as upgrading its packages would: kubeadm, kubelet, kubectl or crictl.
func (l *Lab) InstallPrograms(ctx context.Context, host, version string, names ...string) error {
	release, err := build.FindRelease(version)
	if err != nil {
		return err
	}
	paths, err := l.cache.Programs(ctx, release, names...)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := l.install(ctx, host, paths[name], "/usr/bin/"+name); err != nil {
			return err
		}
	}
	return nil
}

// install copies a program onto a host, beside its target first: one that runs
// cannot be written.
func (l *Lab) install(ctx context.Context, host, from, to string) error {
	file, err := os.Open(from)
	if err != nil {
		return err
	}
	defer file.Close()
	cmd, err := l.Command(ctx, host, "sh", "-euc", `cat >"$1.new"; chmod 755 "$1.new"; mv "$1.new" "$1"`, "sh", to)
	if err != nil {
		return err
	}
	cmd.Stdin = file
	_, err = process.Output(cmd)
	return err
}

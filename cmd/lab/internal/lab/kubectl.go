package lab

import (
	"context"
	"fmt"
	"strings"
)

// Kubectl runs kubectl on a control plane with the administrator's credentials.
func (l hosts) Kubectl(ctx context.Context, host string, args ...string) ([]byte, error) {
	return l.KubectlInput(ctx, host, "", args...)
}

// KubectlInput is Kubectl with a standard input, for "apply -f -".
func (l hosts) KubectlInput(ctx context.Context, host, input string, args ...string) ([]byte, error) {
	argv := append([]string{"kubectl", "--kubeconfig", "/etc/kubernetes/admin.conf"}, args...)
	return l.ExecInput(ctx, host, input, argv...)
}

// readyTimeout bounds the wait for nodes and CoreDNS.
const readyTimeout = "3m"

// WaitReady waits until every node is Ready and CoreDNS is available, with kubectl on a control
// plane.
func (l hosts) WaitReady(ctx context.Context, host string) error {
	if _, err := l.Kubectl(ctx, host, "wait", "nodes", "--all", "--for=condition=Ready", "--timeout="+readyTimeout); err != nil {
		return err
	}
	_, err := l.Kubectl(ctx, host, "--namespace", "kube-system", "wait", "deployment/coredns",
		"--for=condition=Available", "--timeout="+readyTimeout)
	return err
}

// Kubeconfig returns the administrator's kubeconfig of a control plane, adapted to this machine,
// which cannot resolve the endpoint's name.
func (l hosts) Kubeconfig(ctx context.Context, host string) ([]byte, error) {
	text, err := l.Exec(ctx, host, "cat", "/etc/kubernetes/admin.conf")
	if err != nil {
		return nil, err
	}
	name, address := l.Endpoint()
	there := fmt.Sprintf("server: https://%s:%d", name, address.Port())
	here := fmt.Sprintf("server: https://%s\n    tls-server-name: %s", address, name)
	return []byte(strings.Replace(string(text), there, here, 1)), nil
}

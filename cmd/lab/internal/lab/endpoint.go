package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/kubewright/kubewright/cmd/lab/internal/balancer"
	"github.com/kubewright/kubewright/cmd/lab/internal/build"
	"github.com/kubewright/kubewright/cmd/lab/internal/process"
)

// apiPort is where API servers and the balancer listen.
const apiPort = 6443

// backends answers where the lab's API servers will listen.
func (l *Lab) backends() []string {
	var all []string
	for _, h := range l.record.Hosts {
		if h.Role == ControlPlane {
			all = append(all, netip.AddrPortFrom(h.Address, apiPort).String())
		}
	}
	return all
}

// Serve runs the lab's balancer in this process until the context ends.
func (l *Lab) Serve(ctx context.Context) error {
	_, address := l.Endpoint()
	b, err := balancer.New(address.String(), l.backends())
	if err != nil {
		return err
	}
	<-ctx.Done()
	if err := b.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// startBalancer starts the balancer here, or as a process of its own, which
// lives in a cgroup of the lab so that it is found and killed like a host.
func (l *Lab) startBalancer(ctx context.Context, argv []string) error {
	if len(l.backends()) == 0 {
		return nil
	}
	_, address := l.Endpoint()
	if len(argv) == 0 {
		b, err := balancer.New(address.String(), l.backends())
		l.balancer = b
		return err
	}
	group := l.names().cgroup("balancer")
	trees, err := group.Create()
	if err != nil {
		return err
	}
	var procs []string
	for _, t := range trees {
		procs = append(procs, group.Path(t, "cgroup.procs"))
	}
	logFile, err := os.Create(l.path("balancer.log"))
	if err != nil {
		return err
	}
	defer logFile.Close()
	args := append([]string{"-euc", `for f in $PROCS; do echo $$ >"$f"; done; exec "$@"`, "sh"}, argv...)
	cmd := exec.Command("/bin/sh", append(args, l.record.Name)...)
	cmd.Env = append(os.Environ(), "PROCS="+strings.Join(procs, " "), build.CacheVariable+"="+l.cache.Dir)
	cmd.Stdout, cmd.Stderr = logFile, logFile
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("cannot start the balancer: %w", err)
	}
	go cmd.Wait()
	return process.Until(ctx, 10*time.Second, 20*time.Millisecond, "the balancer", func(ctx context.Context) error {
		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, "tcp", address.String())
		if err != nil {
			text, _ := os.ReadFile(logFile.Name())
			return fmt.Errorf("%w %s", err, process.Tail(string(text), 3))
		}
		return conn.Close()
	})
}

package lab

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// startBalancer starts the balancer here, or as a process of its own, which
// lives in a cgroup of the lab so that it is found and killed like a host.
func (l *Lab) startBalancer(ctx context.Context, argv []string) error {
	if len(l.backends()) == 0 {
		return nil
	}
	_, address := l.Endpoint()
	if len(argv) == 0 {
		b, err := NewBalancer(address.String(), l.backends())
		l.balancer = b
		return err
	}
	group := l.names().cgroup("balancer")
	trees, err := group.create()
	if err != nil {
		return err
	}
	var procs []string
	for _, t := range trees {
		procs = append(procs, group.path(t, "cgroup.procs"))
	}
	logFile, err := os.Create(l.path("balancer.log"))
	if err != nil {
		return err
	}
	defer logFile.Close()
	args := append([]string{"-euc", `for f in $PROCS; do echo $$ >"$f"; done; exec "$@"`, "sh"}, argv...)
	cmd := exec.Command("/bin/sh", append(args, l.record.Name)...)
	cmd.Env = append(os.Environ(), "PROCS="+strings.Join(procs, " "), CacheVariable+"="+l.cache.Dir)
	cmd.Stdout, cmd.Stderr = logFile, logFile
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("cannot start the balancer: %w", err)
	}
	go cmd.Wait()
	return until(ctx, 10*time.Second, 20*time.Millisecond, "the balancer", func(ctx context.Context) error {
		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, "tcp", address.String())
		if err != nil {
			text, _ := os.ReadFile(logFile.Name())
			return fmt.Errorf("%w %s", err, tail(string(text), 3))
		}
		return conn.Close()
	})
}

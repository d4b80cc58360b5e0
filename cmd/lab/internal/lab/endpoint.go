package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/kubewright/kubewright/cmd/lab/internal/balancer"
	"github.com/kubewright/kubewright/cmd/lab/internal/build"
	"github.com/kubewright/kubewright/cmd/lab/internal/process"
)

// apiPort is the port of API servers and of the balancer.
const apiPort = 6443

// Serve runs the lab's balancer in this process until ctx ends, and keeps the lab that long.
func (l *Lab) Serve(ctx context.Context) error {
	if err := l.keep(); err != nil {
		return err
	}
	defer l.letGo()
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

// startBalancer starts the balancer in this process, or as a separate process in a cgroup of the
// lab, so that it can be found and killed like a host.
func (l *Lab) startBalancer(ctx context.Context, argv []string) error {
	_, address := l.Endpoint()
	if len(argv) == 0 {
		b, err := balancer.New(address.String(), l.backends())
		l.balancer = b
		return err
	}
	l.letGo() // the other process keeps the lab instead
	logName := l.path("balancer.log")
	env := append(os.Environ(), build.CacheVariable+"="+l.cache.Dir)
	if _, err := detach(l.names().cgroup("balancer"), logName, env, append(argv, l.record.Name)...); err != nil {
		return fmt.Errorf("cannot start the balancer: %w", err)
	}
	return process.Until(ctx, 10*time.Second, 20*time.Millisecond, "the balancer", func(ctx context.Context) error {
		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, "tcp", address.String())
		if err != nil {
			text, _ := os.ReadFile(logName)
			return fmt.Errorf("%w %s", err, process.Tail(string(text), 3))
		}
		return conn.Close()
	})
}

package ssh

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"syscall"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/shell"
)

// Host is a host over SSH, with the features that depend on a connection.
type Host struct {
	*shell.Host
	conn *Conn
}

var _ providers.Host = (*Host)(nil)

// NewHost makes a host from a connection, which it owns from then on.
func NewHost(c *Conn, o shell.Options) *Host {
	return &Host{Host: shell.New(c.target.Address, transport{c, o.Direct}, o), conn: c}
}

// Conn returns the host's connection: its host key, and whether it still lives.
func (h *Host) Conn() *Conn { return h.conn }

// Ended returns why the host's connection has ended; nil while it lives.
func (h *Host) Ended() error { return h.conn.Err() }

// transport is a Conn with an alternative if sshd forbids forwarding.
type transport struct {
	*Conn
	// direct reports which addresses may be connected to without the host; nil for none.
	direct func(address string) bool
}

// errHostsWord is the reason for not connecting to an address directly.
var errHostsWord = errors.New("its sshd forbids forwarding, and this machine connects itself to addresses of the configuration alone: set AllowTcpForwarding there, or name the address in the configuration if it is the cluster's")

// DialContext connects through the host, or directly if its sshd forbids that, the address
// is in the configuration, and it is not one that only the host itself can reach.
func (t transport) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := t.Conn.DialContext(ctx, network, address)
	if !errors.Is(err, providers.ErrNoForwarding) || onlyThere(address) {
		return conn, err
	}
	if t.direct == nil || !t.direct(address) {
		return nil, &providers.Error{Kind: providers.ErrNoForwarding, Do: "connect to " + address + " from " + t.target.Address, Cause: errHostsWord}
	}
	direct, directErr := (&net.Dialer{}).DialContext(ctx, network, address)
	if errors.Is(directErr, syscall.ECONNREFUSED) {
		return nil, &providers.Error{Kind: providers.ErrUnreachable, Do: "connect to " + address, Cause: providers.ErrRefused}
	}
	if directErr != nil {
		return nil, errors.Join(err, directErr)
	}
	return direct, nil
}

// onlyThere reports whether an address is a loopback address.
func onlyThere(address string) bool {
	name, _, err := net.SplitHostPort(address)
	if err != nil || name == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && (ip.IsLoopback() || ip.IsUnspecified())
}

package sim

import (
	"context"
	"fmt"
	"net"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// Host is a simulated host; it implements providers.Host.
type Host struct {
	w       *World
	address string
}

var _ providers.Host = (*Host)(nil)

// Host returns the host at an address; one that nobody has asked for before
// springs up as the world's profile says.
func (w *World) Host(address string) *Host {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.machine(address)
	return &Host{w, address}
}

// SetHost gives a host a profile, a name and IP addresses of its own; what is
// zero stays as it is.
func (w *World) SetHost(address string, p Profile, hostname string, addresses ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.machine(address)
	if p != (Profile{}) && p != w.d.Profile {
		m.Profile = &p
	}
	if hostname != "" {
		delete(w.names, w.hostname(m))
		m.Hostname = hostname
	}
	if len(addresses) > 0 {
		m.Addresses = addresses
	}
	w.know(m)
}

// Address returns where the host is reached.
func (h *Host) Address() string { return h.address }

// World returns the world the host is in.
func (h *Host) World() *World { return h.w }

// HostKey returns the key that the host shows, as in known_hosts.
func (h *Host) HostKey() string {
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	return h.w.hostKey(h.machine())
}

func (h *Host) machine() *machine { return h.w.machine(h.address) }

// ReadSecrets returns references to what the files hold: records without key
// material, which become the same records where they are written.
func (h *Host) ReadSecrets(ctx context.Context, paths []string) (map[string]state.Secret, error) {
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	out := map[string]state.Secret{}
	m := h.machine()
	err := h.w.read(ctx, m, "read_secrets", "", func() error {
		out = h.w.secrets(m, paths)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (w *World) secrets(m *machine, paths []string) map[string]state.Secret {
	out := map[string]state.Secret{}
	for _, p := range paths {
		if f := w.resolve(m, clean(p)); f.isRegular() {
			out[p] = state.NewSecret(w.text(f))
		}
	}
	return out
}

// DialContext is refused: the simulator has no wire. Its API and etcd are
// reached through Access, and HTTP through HTTPStatus.
func (h *Host) DialContext(_ context.Context, network, address string) (net.Conn, error) {
	return nil, &providers.Error{
		Kind: providers.ErrNoForwarding, Do: "connect to " + address + " from " + h.address,
		Cause: fmt.Errorf("a simulated host has no %s", network),
	}
}

// Close does nothing.
func (h *Host) Close() error { return nil }

// hostOf finds the simulated host behind h, which may be wrapped.
func hostOf(h providers.Host) (*Host, error) {
	for h != nil {
		if s, ok := h.(*Host); ok {
			return s, nil
		}
		inner, ok := h.(interface{ Unwrap() providers.Host })
		if !ok {
			break
		}
		h = inner.Unwrap()
	}
	return nil, fmt.Errorf("internal error: %T is no simulated host", h)
}

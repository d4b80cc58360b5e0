package sim

import (
	"context"
	"fmt"
	"net"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/diagnosis"
	"github.com/kubewright/kubewright/providers/sim/kubelet"
	"github.com/kubewright/kubewright/providers/sim/machine"
	"github.com/kubewright/kubewright/providers/sim/observation"
	"github.com/kubewright/kubewright/providers/sim/operation"
	"github.com/kubewright/kubewright/state"
)

// Host is a simulated host; it implements providers.Host.
type Host struct {
	w       *World
	address string
}

// Host returns the host at an address. A new one is made with the world's profile.
func (w *World) Host(address string) *Host {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fleet.Machine(address)
	return &Host{w, address}
}

// SetHost sets a host's profile, name and IP addresses; zero values change nothing.
func (w *World) SetHost(address string, p machine.Profile, hostname string, addresses ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.fleet.Machine(address)
	if p != (machine.Profile{}) && p != w.fleet.Profile {
		m.Profile = &p
	}
	if hostname != "" {
		m.Rename(hostname)
	}
	if len(addresses) > 0 {
		m.Addresses = addresses
	}
	w.fleet.Index(m)
}

// Address returns the address at which the host is reached.
func (h *Host) Address() string { return h.address }

// World returns the world the host is in.
func (h *Host) World() *World { return h.w }

// HostKey returns the key that the host shows, in the format of known_hosts.
func (h *Host) HostKey() string {
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	m := h.machine()
	which := "original"
	if m.Conditions.ChangedHostKey {
		which = "changed"
	}
	return "ssh-ed25519 SIM" + h.w.fleet.Derive(40, "host-key", m.Address, which)
}

func (h *Host) machine() *machine.Machine { return h.w.fleet.Machine(h.address) }

// ReadSecrets returns references to the contents of files: records without key material,
// which become the same records when they are written.
func (h *Host) ReadSecrets(ctx context.Context, paths []string) (map[string]state.Secret, error) {
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	out := map[string]state.Secret{}
	m := h.machine()
	err := h.w.read(ctx, m, "read_secrets", "", func() error {
		out = observation.Of(h.w.servers, m).Secrets(paths)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// DialContext fails: the simulator has no network. Its API and etcd are reached through
// Access, and HTTP through HTTPStatus.
func (h *Host) DialContext(_ context.Context, network, address string) (net.Conn, error) {
	return nil, &providers.Error{
		Kind: providers.ErrNoForwarding, Do: "connect to " + address + " from " + h.address,
		Cause: fmt.Errorf("a simulated host has no %s", network),
	}
}

// Close does nothing.
func (h *Host) Close() error { return nil }

// wrapper is a host around another one.
type wrapper interface{ Unwrap() providers.Host }

// hostOf returns the simulated host inside h, which may be wrapped.
func hostOf(h providers.Host) (*Host, error) {
	for h != nil {
		if s, ok := h.(*Host); ok {
			return s, nil
		}
		inner, ok := h.(wrapper)
		if !ok {
			break
		}
		h = inner.Unwrap()
	}
	return nil, fmt.Errorf("internal error: %T is no simulated host", h)
}

// Perform performs host operations in order and stops at the first failure.
func (h *Host) Perform(ctx context.Context, batch providers.Batch) ([]providers.Outcome, error) {
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	m := h.machine()
	if err := operation.On(h.w.servers, m).Admit(ctx, batch); err != nil {
		return nil, err
	}
	var outcomes []providers.Outcome
	for i, op := range batch.Operations {
		outcome, err := h.w.perform(ctx, m, op, batch)
		outcomes = append(outcomes, outcome)
		if outcome.Changed && batch.Hear != nil {
			for _, line := range operation.Output(op) {
				batch.Hear(i, line)
			}
		}
		if err != nil {
			return outcomes, err
		}
	}
	return outcomes, nil
}

// perform performs one operation as one effect.
func (w *World) perform(ctx context.Context, m *machine.Machine, op planner.Operation, batch providers.Batch) (providers.Outcome, error) {
	var outcome providers.Outcome
	if err := ctx.Err(); err != nil {
		return outcome, err
	}
	if err := operation.Check(op); err != nil {
		return outcome, fmt.Errorf("cannot %s: %w", op.Summary(), err)
	}
	err := w.act(m, op.Op(), operation.Subject(op), func() error {
		changed, err := operation.On(w.servers, m).Perform(op, batch)
		if outcome.Changed = changed; changed {
			m.CountChange(op.Op() + " " + operation.Subject(op))
		}
		return err
	}, func() { operation.On(w.servers, m).Interrupt(op) })
	if _, backup := op.(planner.TakeBackup); backup && err == nil {
		outcome.Output = operation.On(w.servers, m).LastBackup()
	}
	return outcome, err
}

// ServedCertificate returns the certificate of an API server, of etcd or of a kubelet, which reread
// theirs for each connection.
func (h *Host) ServedCertificate(ctx context.Context, address string) (state.CertificateInfo, error) {
	w := h.w
	w.mu.Lock()
	defer w.mu.Unlock()
	m := h.machine()
	var out state.CertificateInfo
	err := w.read(ctx, m, "tls", address, func() error {
		c, err := w.servers.ServedCertificate(m, address)
		if err != nil {
			return &providers.Error{Kind: providers.ErrUnreachable, Do: "see the certificate at " + address, Cause: err}
		}
		out = *c
		return nil
	})
	return out, err
}

// Diagnose returns what does not run on the host.
func (h *Host) Diagnose(ctx context.Context) (*diagnosis.Report, error) {
	w := h.w
	w.mu.Lock()
	defer w.mu.Unlock()
	m := h.machine()
	var r *diagnosis.Report
	err := w.read(ctx, m, "diagnose", "", func() error {
		r = kubelet.On(w.servers, m).Diagnosis()
		return nil
	})
	return r, err
}

// HTTPStatus returns the status of a health endpoint of the kubelet or of a control plane
// component: 200, or 500 if the component runs but is unhealthy.
func (h *Host) HTTPStatus(ctx context.Context, address, ca string) (int, error) {
	w := h.w
	w.mu.Lock()
	defer w.mu.Unlock()
	m := h.machine()
	status := 0
	err := w.read(ctx, m, "http", address, func() error {
		var err error
		if status, err = w.servers.HTTPStatus(m, address, ca); err != nil {
			return &providers.Error{Kind: providers.ErrUnreachable, Do: "get " + address + " from " + m.Address, Cause: err}
		}
		return nil
	})
	return status, err
}

// Observe answers a query and changes nothing.
func (h *Host) Observe(ctx context.Context, q state.Query) (*state.Report, error) {
	if h.w.OnObserve != nil {
		if err := h.w.OnObserve(ctx, h.address); err != nil {
			return nil, err
		}
	}
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	m := h.machine()
	var r *state.Report
	err := h.w.read(ctx, m, "observe", "", func() error {
		r = observation.Of(h.w.servers, m).Report(q)
		return nil
	})
	return r, err
}

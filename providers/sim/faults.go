package sim

import (
	"context"
	"fmt"
	"path"
	"time"

	"github.com/kubewright/kubewright/providers"
)

// FaultKind is what goes wrong.
type FaultKind string

// The kinds of fault.
const (
	// FaultUnreachable: no connection is made; nothing happens (ErrUnreachable).
	FaultUnreachable FaultKind = "unreachable"
	// FaultDropBefore: the connection is lost before the effect (ErrDisconnected).
	FaultDropBefore FaultKind = "drop-before"
	// FaultDropAfter: the effect happens and its answer is lost (ErrDisconnected).
	FaultDropAfter FaultKind = "drop-after"
	// FaultFail: the operation fails on the host (CommandError); nothing happens.
	FaultFail FaultKind = "fail"
	// FaultHang: no answer comes within a minute; nothing happens (ErrTimeout).
	FaultHang FaultKind = "hang"
	// FaultPartial: the connection is lost in the middle; what has parts is half done (ErrDisconnected).
	FaultPartial FaultKind = "partial"
)

// Fault is something that will go wrong. It is kept with the world.
type Fault struct {
	// Host is the address it happens at; empty for any.
	Host string `json:"host,omitempty"`
	// Op is a pattern (path.Match) for what fails: the name of an operation
	// such as write_file, or observe, read_secrets, http, api.observe,
	// api.ready, etcd.members; empty for any.
	Op string `json:"op,omitempty"`
	// Detail, when set, is a pattern for what the operation is about: a path, a unit, a node.
	Detail string `json:"detail,omitempty"`
	// Skip is how many matching calls go well first.
	Skip int `json:"skip,omitempty"`
	// Times is how many fail then; 0 for one, a negative number for all.
	Times int       `json:"times,omitempty"`
	Kind  FaultKind `json:"kind"`

	Seen int `json:"seen,omitempty"`
}

// Effect is what OnEffect is told.
type Effect struct {
	// N counts the effects of this process from 1; before and after have the same number.
	N      int
	Host   string
	Op     string
	Detail string
	// Done is false before the effect and true behind it.
	Done bool
}

// String prints 3 before write_file /etc/x on 10.0.0.1.
func (e Effect) String() string {
	when := "before"
	if e.Done {
		when = "after"
	}
	return fmt.Sprintf("%d %s %s %s on %s", e.N, when, e.Op, e.Detail, e.Host)
}

// Fault plans a fault.
func (w *World) Fault(f Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.d.Faults = append(w.d.Faults, &f)
}

// ClearFaults forgets all faults that are planned.
func (w *World) ClearFaults() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.d.Faults = nil
}

// SetConditions sets what is wrong with a host.
func (w *World) SetConditions(address string, c Conditions) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.machine(address)
	if c.ForeignCluster && !m.Conditions.ForeignCluster {
		w.makeForeign(m)
	}
	m.Conditions = c
	w.wake(m)
	w.settle()
}

// Conditions returns what is wrong with a host.
func (w *World) Conditions(address string) Conditions {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.machine(address).Conditions
}

// makeForeign leaves the traces of a cluster that somebody else made.
func (w *World) makeForeign(m *machine) {
	digest := w.derive(64, "foreign", m.address)
	ca := w.caRecord("kubernetes", "RSA-2048", 87600*time.Hour, digest)
	w.put(m, "/etc/kubernetes/pki/ca.crt", recordFile(&record{Certificates: ca.Certificates}, "", ""))
	for _, name := range []string{"/etc/kubernetes/kubelet.conf", "/etc/kubernetes/admin.conf"} {
		w.put(m, name, w.contentFile([]byte("simulated kubeconfig of somebody else\n"), "0600", ""))
	}
	w.put(m, "/var/lib/kubelet/config.yaml", w.contentFile([]byte("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"), "", ""))
}

// match finds the fault that a call meets, and counts the call.
func (w *World) match(host, op, detail string) FaultKind {
	var hit FaultKind
	for _, f := range w.d.Faults {
		if f.Host != "" && f.Host != host || !matches(f.Op, op) || !matches(f.Detail, detail) {
			continue
		}
		f.Seen++
		times := f.Times
		if times == 0 {
			times = 1
		}
		if hit == "" && f.Seen > f.Skip && (times < 0 || f.Seen <= f.Skip+times) {
			hit = f.Kind
		}
	}
	return hit
}

func matches(pattern, s string) bool {
	ok, _ := path.Match(pattern, s)
	return pattern == "" || ok || pattern == s
}

// connected checks that a host can be reached, logged in to and administered.
func (w *World) connected(ctx context.Context, m *machine) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	do := "connect to " + m.address
	switch {
	case m.Off, m.Conditions.Unreachable:
		return &providers.Error{Kind: providers.ErrUnreachable, Do: do, Cause: errText("no route to host")}
	case m.Conditions.ChangedHostKey:
		return &providers.Error{Kind: providers.ErrHostKeyChanged, Do: do}
	case m.Conditions.RefusesKey:
		return &providers.Error{Kind: providers.ErrAuth, Do: "log in to " + m.address, Cause: errText("no key is accepted")}
	case m.Conditions.NoSudo:
		return &providers.Error{Kind: providers.ErrSudo, Do: "run commands on " + m.address, Cause: errText("sudo: a password is required")}
	}
	return nil
}

type errText string

func (e errText) Error() string { return string(e) }

// read is a call that changes nothing.
func (w *World) read(ctx context.Context, m *machine, op, detail string, do func() error) error {
	if err := w.connected(ctx, m); err != nil {
		return err
	}
	kind := w.match(m.address, op, detail)
	if err := w.failure(kind, m, op, detail); err != nil {
		return err
	}
	return do()
}

// act is an effect on the host, or through it. half does part of it, where it has parts.
func (w *World) act(m *machine, op, detail string, do func() error, half func()) error {
	kind := w.match(m.address, op, detail)
	e := Effect{N: w.effects + 1, Host: m.address, Op: op, Detail: detail}
	w.effects++
	if err := w.tell(e); err != nil {
		return err
	}
	if kind == FaultPartial && half != nil {
		half()
	}
	if kind != FaultDropAfter {
		if err := w.failure(kind, m, op, detail); err != nil {
			return err
		}
	}
	if err := do(); err != nil {
		return err
	}
	w.wake(m)
	w.settle()
	if w.Durable {
		if err := w.keep(); err != nil {
			return err
		}
	}
	e.Done = true
	if w.Watch {
		w.watch(e)
	}
	if err := w.tell(e); err != nil {
		return err
	}
	if kind == FaultDropAfter {
		return w.failure(kind, m, op, detail)
	}
	return nil
}

func (w *World) tell(e Effect) error {
	if w.OnEffect == nil {
		return nil
	}
	return w.OnEffect(e)
}

// failure is the error of a fault, or nil without one.
func (w *World) failure(kind FaultKind, m *machine, op, detail string) error {
	words := op
	if detail != "" {
		words += " " + detail
	}
	switch kind {
	case "":
		return nil
	case FaultUnreachable:
		return &providers.Error{Kind: providers.ErrUnreachable, Do: "connect to " + m.address, Cause: errText("connection refused")}
	case FaultHang:
		w.advance(time.Minute)
		return &providers.Error{Kind: providers.ErrTimeout, Do: words + " on " + m.address, Cause: errText("no answer within 1m0s")}
	case FaultFail:
		return m.commandError(words, 1, "simulated failure")
	}
	return &providers.Error{Kind: providers.ErrDisconnected, Do: words + " on " + m.address, Cause: errText("connection reset by peer")}
}

func (m *machine) commandError(what string, code int, stderr string) error {
	return &providers.CommandError{Host: m.address, Command: what, ExitCode: code, Stderr: providers.Tail([]byte(stderr))}
}

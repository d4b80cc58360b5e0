package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/sim/edit"
	"github.com/kubewright/kubewright/providers/sim/machine"
	"github.com/kubewright/kubewright/providers/sim/operation"
)

// FaultKind is a kind of fault.
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
	// FaultPartial: the connection is lost in the middle; an operation of several parts is half
	// done (ErrDisconnected).
	FaultPartial FaultKind = "partial"
)

// FaultKinds are all kinds of faults.
var FaultKinds = []FaultKind{FaultUnreachable, FaultDropBefore, FaultDropAfter, FaultFail, FaultHang, FaultPartial}

// Fault is a planned failure. It is saved with the world.
type Fault struct {
	// Host is the address at which it happens; empty for any.
	Host string `json:"host,omitempty"`
	// Op is a pattern (path.Match) for the failing call: the name of an operation such as
	// write_file, or observe, read_secrets, http, api.observe, api.ready, etcd.members;
	// empty for any.
	Op string `json:"op,omitempty"`
	// Detail, if set, is a pattern for the subject of the operation: a path, a unit, a
	// node.
	Detail string `json:"detail,omitempty"`
	// Skip is how many matching calls succeed first.
	Skip int `json:"skip,omitempty"`
	// Times is how many calls then fail; 0 for one, a negative number for all.
	Times int       `json:"times,omitempty"`
	Kind  FaultKind `json:"kind"`

	Seen int `json:"seen,omitempty"`
}

// Effect is the argument of OnEffect.
type Effect struct {
	// N counts the effects of this process from 1; before and after have the same number.
	N      int
	Host   string
	Op     string
	Detail string
	// Done reports whether the effect has happened.
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
	w.faults = append(w.faults, &f)
}

// Happened reports whether a call has failed because of the fault.
func (f *Fault) Happened() bool { return f.Seen > f.Skip }

// ClearFaults removes all planned faults and returns them, in the order in which they were planned.
func (w *World) ClearFaults() []*Fault {
	w.mu.Lock()
	defer w.mu.Unlock()
	cleared := w.faults
	w.faults = nil
	return cleared
}

// SetConditions sets a host's conditions.
func (w *World) SetConditions(address string, c machine.Conditions) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.fleet.Machine(address)
	if c.ForeignCluster && !m.Conditions.ForeignCluster {
		edit.MakeForeign(w.fleet, m)
	}
	m.Conditions = c
	m.Wake()
	w.time.Settle()
}

// Conditions returns a host's conditions.
func (w *World) Conditions(address string) machine.Conditions {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fleet.Machine(address).Conditions
}

// faults are the planned faults.
type faults []*Fault

// match returns the kind of the fault that applies to a call, and counts the call.
func (fs faults) match(host, op, detail string) FaultKind {
	var hit FaultKind
	for _, f := range fs {
		if f.Host != "" && f.Host != host || !operation.Matches(f.Op, op) || !operation.Matches(f.Detail, detail) {
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

// read is a call that changes nothing.
func (w *World) read(ctx context.Context, m *machine.Machine, op, detail string, do func() error) error {
	if err := m.Connected(ctx); err != nil {
		return err
	}
	kind := w.faults.match(m.Address, op, detail)
	if err := w.failure(kind, m, op, detail); err != nil {
		return err
	}
	return do()
}

// act is an effect on the host, or through it. half performs a part of it, if it has
// several.
func (w *World) act(m *machine.Machine, op, detail string, do func() error, half func()) error {
	kind := w.faults.match(m.Address, op, detail)
	e := Effect{N: w.effects + 1, Host: m.Address, Op: op, Detail: detail}
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
	m.Wake()
	w.time.Settle()
	if w.Durable {
		if err := w.keep(); err != nil {
			return err
		}
	}
	e.Done = true
	if w.Watch {
		for _, what := range (&audit{servers: w.servers}).broken() {
			w.violations = append(w.violations, e.String()+": "+what)
		}
	}
	if err := w.tell(e); err != nil {
		return err
	}
	if kind == FaultDropAfter {
		return w.failure(kind, m, op, detail)
	}
	return nil
}

// keep writes the world to its file before an effect is answered.
func (w *World) keep() error {
	if err := w.file.unchanged(); err != nil {
		return err
	}
	b, err := w.encode()
	if err != nil {
		return err
	}
	return w.file.writeSoon(b)
}

func (w *World) tell(e Effect) error {
	if w.OnEffect == nil {
		return nil
	}
	return w.OnEffect(e)
}

// failure returns the error of a fault, or nil without one.
func (w *World) failure(kind FaultKind, m *machine.Machine, op, detail string) error {
	words := op
	if detail != "" {
		words += " " + detail
	}
	switch kind {
	case "":
		return nil
	case FaultUnreachable:
		return &providers.Error{Kind: providers.ErrUnreachable, Do: "connect to " + m.Address, Cause: errors.New("connection refused")}
	case FaultHang:
		w.time.Advance(time.Minute)
		return &providers.Error{Kind: providers.ErrTimeout, Do: words + " on " + m.Address, Cause: errors.New("no answer within 1m0s")}
	case FaultFail:
		return m.CommandError(words, 1, "simulated failure")
	}
	return &providers.Error{Kind: providers.ErrDisconnected, Do: words + " on " + m.Address, Cause: errors.New("connection reset by peer")}
}

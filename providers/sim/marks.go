package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// What kubewright keeps on a host: its mark, and the token of the last run.

// admit checks that a batch may act on the host, and remembers its token.
func (w *World) admit(ctx context.Context, m *machine, batch providers.Batch) error {
	if err := w.connected(ctx, m); err != nil {
		return err
	}
	if m.Unreadable != "" {
		return &providers.CommandError{Host: m.address, Command: "prepare " + m.address, ExitCode: 1, Stderr: []string{"cannot read " + m.Unreadable}}
	}
	if m.Lineage != "" && batch.Lineage != "" && m.Lineage != batch.Lineage {
		return &providers.Error{
			Kind: providers.ErrForeign, Do: "change " + m.address,
			Cause: fmt.Errorf("it belongs to the state with lineage %s, this one has %s", m.Lineage, batch.Lineage),
		}
	}
	void := batch.Void != 0 && m.Token == batch.Void
	if batch.Token < m.Token && !void {
		return &providers.Error{
			Kind: providers.ErrSuperseded, Do: "change " + m.address,
			Cause: fmt.Errorf("the host has seen run %d, this is run %d", m.Token, batch.Token),
		}
	}
	if batch.Token == m.Token && !void && m.Run != "" && batch.Run != "" && m.Run != batch.Run {
		return &providers.Error{
			Kind: providers.ErrSuperseded, Do: "change " + m.address,
			Cause: fmt.Errorf("another run has begun there that was planned at the same time as this one (both are run %d)", m.Token),
		}
	}
	if err := w.expected(m, batch); err != nil {
		return err
	}
	m.Token, m.Run = batch.Token, batch.Run
	if m.Lineage == "" {
		m.Lineage = batch.Lineage
	}
	if w.get(m, ownFolder) == nil {
		w.put(m, ownFolder, &file{Type: typeDirectory, Mode: "0700"})
	}
	return nil
}

func (w *World) mark(m *machine, op planner.Mark) bool {
	if op.Remove {
		m.forgetMarks()
		w.remove(m, ownFolder)
		return true
	}
	marks := op.Marks
	changed := m.Marks == nil || !equalMarks(*m.Marks, marks)
	m.Marks = &marks
	return changed
}

// marks returns a copy of what kubewright left on the host.
func (w *World) marks(m *machine) *state.Marks {
	switch {
	case m.Unreadable != "":
		return &state.Marks{Unreadable: "cannot read " + m.Unreadable}
	case m.Marks == nil && m.Token == 0:
		return nil
	case m.Marks == nil:
		return &state.Marks{Lineage: m.Lineage, Token: m.Token}
	}
	marks := *m.Marks
	if m.Token != 0 {
		marks.Token = m.Token
	}
	return &marks
}

func (m *machine) forgetMarks() {
	m.Marks, m.Token, m.Lineage, m.Run, m.Before, m.Unreadable = nil, 0, "", "", nil, ""
}

// mark changes what kubewright left on the host, as only root can.
func (e *edit) mark() error {
	name, value, err := e.pair("NAME=VALUE")
	if err != nil {
		return err
	}
	marks := state.Marks{}
	if e.m.Marks != nil {
		marks = *e.m.Marks
	}
	switch name {
	case "lineage":
		marks.Lineage, e.m.Lineage = value, value
	case "format":
		marks.Format, err = strconv.Atoi(value)
	case "cluster":
		marks.Cluster = value
	case "node":
		marks.Node, err = state.ParseTarget(value)
	case "ca":
		marks.ClusterCA = value
	case "token":
		e.m.Run = ""
		e.m.Token, err = strconv.ParseInt(value, 10, 64)
		if errors.Is(err, strconv.ErrRange) {
			e.m.Token, err = math.MaxInt64, nil // as it is read on real hosts
		}
	case "unreadable":
		e.m.Unreadable = value
	default:
		return fmt.Errorf("unknown part %q of a mark; lineage, format, cluster, node, ca, token or unreadable", name)
	}
	if err != nil {
		return err
	}
	if name != "token" && name != "unreadable" {
		e.m.Marks = &marks
	}
	return nil
}

// keptMarks is all that kubewright left on a host, for tests that look at it or put it back.
type keptMarks struct {
	Marks      *state.Marks `json:"marks"`
	Token      int64        `json:"token"`
	Lineage    string       `json:"lineage"`
	Run        string       `json:"run"`
	Unreadable string       `json:"unreadable"`
}

// MarksJSON returns what kubewright left on a host.
func (w *World) MarksJSON(host string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.machine(host)
	b, _ := json.Marshal(keptMarks{m.Marks, m.Token, m.Lineage, m.Run, m.Unreadable}) // plain values
	return string(b)
}

// SetMarksJSON puts back on a host what MarksJSON has returned.
func (w *World) SetMarksJSON(host, kept string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var k keptMarks
	if err := json.Unmarshal([]byte(kept), &k); err != nil {
		return err
	}
	m := w.machine(host)
	m.Marks, m.Token, m.Lineage, m.Run, m.Unreadable = k.Marks, k.Token, k.Lineage, k.Run, k.Unreadable
	return nil
}

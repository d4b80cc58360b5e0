package machine

import (
	"github.com/kubewright/kubewright/state"
)

// ReportedMarks returns a copy of kubewright's marks on the host.
func (m *Machine) ReportedMarks() *state.Marks {
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

// ForgetMarks removes kubewright's marks from the machine.
func (m *Machine) ForgetMarks() {
	m.Marks, m.Token, m.Lineage, m.Run, m.Before, m.Unreadable = nil, 0, "", "", nil, ""
	m.Was, m.Around = nil, nil
}

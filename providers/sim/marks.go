package sim

import (
	"encoding/json"

	"github.com/kubewright/kubewright/state"
)

// keptMarks is everything that kubewright left on a host, for tests that read or restore
// it.
type keptMarks struct {
	Marks      *state.Marks `json:"marks"`
	Token      int64        `json:"token"`
	Lineage    string       `json:"lineage"`
	Run        string       `json:"run"`
	Unreadable string       `json:"unreadable"`
}

// MarksJSON returns kubewright's marks on a host.
func (w *World) MarksJSON(host string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.fleet.Machine(host)
	b, _ := json.Marshal(keptMarks{m.Marks, m.Token, m.Lineage, m.Run, m.Unreadable}) // plain values
	return string(b)
}

// SetMarksJSON restores on a host the result of MarksJSON.
func (w *World) SetMarksJSON(host, kept string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var k keptMarks
	if err := json.Unmarshal([]byte(kept), &k); err != nil {
		return err
	}
	m := w.fleet.Machine(host)
	m.Marks, m.Token, m.Lineage, m.Run, m.Unreadable = k.Marks, k.Token, k.Lineage, k.Run, k.Unreadable
	return nil
}

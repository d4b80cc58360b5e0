package sim

import (
	"fmt"

	"github.com/kubewright/kubewright/providers/sim/edit"
)

// Edit makes a manual change to a host, or to the cluster that it is a node of. The
// expression is one of EditHelp; its last word may contain blanks.
func Edit(w *World, host string, expr string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.fleet.Machine(host)
	if err := edit.Apply(w.servers, m, expr); err != nil {
		return fmt.Errorf("cannot edit %s: %w", host, err)
	}
	m.Wake()
	w.time.Settle()
	return nil
}

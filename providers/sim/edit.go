package sim

import (
	"fmt"

	"github.com/kubewright/kubewright/providers/sim/edit"
)

// Edit changes something on a host, or in the cluster that it is a node of, by
// hand. The expression is one of EditHelp; the last word may contain blanks.
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

package sim

import (
	"github.com/kubewright/kubewright/providers/sim/observation"
	"github.com/kubewright/kubewright/state"
)

// Contents returns what is on a host, for the conditions of tests: its files, units, images and
// kernel settings, and the Node object of its kubelet.
func Contents(w *World, address string) state.Value {
	w.mu.Lock()
	defer w.mu.Unlock()
	return observation.Of(w.servers, w.fleet.Machine(address)).Contents()
}

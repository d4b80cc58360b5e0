package sim

import (
	"github.com/kubewright/kubewright/providers/sim/observation"
)

// Listing returns everything on a host as sorted text, one item per line, to be compared
// before and after. What only the world counts (time, boots) and images are left out.
func (w *World) Listing(address string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return observation.Of(w.servers, w.fleet.Machine(address)).Listing()
}

package sim

import (
	"github.com/kubewright/kubewright/providers/sim/observation"
)

// Listing returns everything on a host as sorted text, one item per line, for comparisons
// before and after. It omits images and the world's own counters (time, boots).
func (w *World) Listing(address string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return observation.Of(w.servers, w.fleet.Machine(address)).Listing()
}

package sim

import "maps"

// Deeds tells how often something was done that changed a host, its etcd or its
// cluster, by what and where: an operation that found all done already is none. It
// is about this process alone. Starts of the kubelet and of static pods are
// deeds, and pods that a drain took off a node.
func (w *World) Deeds() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.deeds)
}

func (w *World) did(m *machine, what string) {
	if w.deeds == nil {
		w.deeds = map[string]int{}
	}
	w.deeds[what+" on "+m.address]++
}

package sim

import (
	"maps"
)

// Changes returns how often each change was made to a host, its etcd or its cluster, by
// what and where. It counts the changes of this process alone, among them starts of the
// kubelet and of static pods, and evictions. An operation that found nothing to do is none.
func (w *World) Changes() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.fleet.Changes)
}

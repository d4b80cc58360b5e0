package sim

import (
	"maps"
)

// Changes returns how often each change was made to a host, its etcd or its cluster, keyed
// by change and place. It counts the changes of this process alone, including starts of the
// kubelet and of static pods, and evictions. An operation without an effect does not count.
func (w *World) Changes() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.fleet.Changes)
}

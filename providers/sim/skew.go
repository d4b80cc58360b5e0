package sim

import (
	"fmt"

	"github.com/kubewright/kubewright/planner/skew"
)

// versionOfPod returns the version of a component that runs on a host; false when it
// does not run, or its image has another tag than a version's.
func (w *World) versionOfPod(m *machine, component string) (skew.Release, bool) {
	_, p := w.podOf(m, component)
	if p == nil {
		return skew.Release{}, false
	}
	return skew.ParseRelease(p.tag())
}

// skewed refuses a component that is newer than the API server that it speaks
// with, by the minor version. Most real ones work, and some do not: the kubelet 1.31
// started no pods with an API server 1.30 (kubernetes/kubernetes#127316).
func (w *World) skewed(name string, component skew.Release, server *machine) error {
	api, known := w.versionOfPod(server, compAPI)
	if known && component.Minor > api.Minor {
		return fmt.Errorf("%s %s is newer than API server %s", name, component, api)
	}
	return nil
}

// restartPods starts the static pods again that a kubelet of another version
// knows by another hash than the one before it.
func (w *World) restartPods(m *machine, node, before, after string) {
	if before == after {
		return
	}
	for _, name := range sortedKeys(m.Pods) {
		p := m.Pods[name]
		if w.podHash(p, name, node, before) != w.podHash(p, name, node, after) {
			w.did(m, "start "+name)
			p.Started = w.d.Now
		}
	}
}

// watch notes what is broken at this moment: API servers without the etcd beside
// them, rules of version skew, and quorum and API of clusters of three control
// planes or more, once they have had them.
func (w *World) watch(e Effect) {
	for _, address := range sortedKeys(w.planes) {
		if w.stranded(w.d.Hosts[address]) {
			w.violated(e, "the API server of "+address+" has no etcd behind it")
		}
	}
	for _, id := range sortedKeys(w.d.Clusters) {
		c := w.d.Clusters[id]
		v := skew.Versions{
			APIServers: map[string]skew.Release{}, ControllerManagers: map[string]skew.Release{},
			Schedulers: map[string]skew.Release{}, Kubelets: map[string]skew.Release{},
		}
		serving := false
		for _, name := range sortedKeys(c.Nodes) {
			m := w.d.Hosts[c.Nodes[name].Host]
			if m == nil || m.Off {
				continue
			}
			for component, of := range map[string]map[string]skew.Release{
				compAPI: v.APIServers, compController: v.ControllerManagers, compScheduler: v.Schedulers,
			} {
				if r, ok := w.versionOfPod(m, component); ok {
					of[name] = r
				}
			}
			if r, ok := skew.ParseRelease(c.Nodes[name].Kubelet); ok && w.kubeletRuns(m) {
				v.Kubelets[name] = r
			}
			serving = serving || w.fault(m, compAPI) == nil
		}
		for _, err := range v.Violations() {
			w.violated(e, err.Error())
		}
		if len(c.voters()) < 3 {
			continue
		}
		if !w.hasQuorum(c) {
			w.violated(e, "etcd has no quorum")
		}
		if !serving {
			w.violated(e, "no API server serves")
		}
	}
}

// stranded reports whether an API server takes requests while the etcd beside it is no
// member of its cluster any more: it fails them.
func (w *World) stranded(m *machine) bool {
	api, _ := w.podOf(m, compAPI)
	etcd, p := w.podOf(m, compEtcd)
	if m.Off || api == nil || etcd == nil || api.Exited != "" {
		return false
	}
	f := w.get(m, p.dataFolder)
	return f != nil && f.Member != nil && w.memberOf(m, p) == nil
}

func (w *World) violated(e Effect, what string) {
	w.violations = append(w.violations, e.String()+": "+what)
}

// Violations returns the moments at which something was broken that has to hold
// throughout, as far as Watch is set.
func (w *World) Violations() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.violations
}

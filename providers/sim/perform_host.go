package sim

import (
	"reflect"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/state"
)

// equalMarks compares all but the token, which the host counts itself.
func equalMarks(a, b state.Marks) bool {
	a.Token, b.Token = 0, 0
	return reflect.DeepEqual(a, b)
}

// preserve keeps what stands at a path, once.
func (w *World) preserve(m *machine, p string) (bool, error) {
	f := w.get(m, p)
	switch {
	case m.Before[p] != nil || f == nil:
		return false, nil
	case f.isDir():
		return false, m.commandError("keep "+p, 1, p+" is a folder")
	}
	if m.Before == nil {
		m.Before = map[string]*file{}
	}
	m.Before[p] = f
	return true, nil
}

// restore puts back what was kept.
func (w *World) restore(m *machine, p string) bool {
	f := m.Before[p]
	if f == nil {
		return false
	}
	w.put(m, p, f)
	delete(m.Before, p)
	return true
}

// removePods ends the pods by their runtime. They run on where that was stopped.
func (w *World) removePods(m *machine) (bool, error) {
	switch {
	case len(m.Pods) == 0 && len(m.Daemons) == 0:
		return false, nil
	case !w.active(m, "containerd"):
		return false, m.commandError("remove all containers", 1, "nobody listens on /run/containerd/containerd.sock, and containers run on without their runtime")
	}
	m.Pods, m.Daemons = nil, nil
	delete(w.planes, m.address)
	m.Links = slices.DeleteFunc(m.Links, podLink)
	w.advance(timePods)
	return true, nil
}

func (w *World) unmount(m *machine, dir string) bool {
	n := len(m.Mounts)
	m.Mounts = slices.DeleteFunc(m.Mounts, func(p string) bool { return p == dir || below(p, dir) })
	return len(m.Mounts) != n
}

// podBridge is the bridge that the links of pods hang on.
const podBridge = "cni0"

// podLink reports whether a link leads to a pod: it hangs on no other bridge, which would
// stand behind its name.
func podLink(link string) bool {
	return strings.HasPrefix(link, "veth") && !strings.Contains(link, "@")
}

func (w *World) removeNetwork(m *machine, patterns []string) bool {
	changed := len(m.Rules) > 0
	m.Rules = nil
	n := len(m.Links)
	goes := func(link string) bool {
		return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(pattern, link) })
	}
	bridge := slices.ContainsFunc(m.Links, func(link string) bool { return link == podBridge && goes(link) })
	m.Links = slices.DeleteFunc(m.Links, func(link string) bool { return goes(link) || bridge && podLink(link) })
	return changed || len(m.Links) != n
}

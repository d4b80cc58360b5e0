package operation

import (
	"path"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/providers/sim/file"
)

// removePods stops the pods through their runtime. Without it they keep running.
func (do Operations) removePods() (bool, error) {
	switch {
	case len(do.m.Pods) == 0 && len(do.m.Daemons) == 0:
		return false, nil
	case !do.m.Systemd().Active("containerd"):
		return false, do.m.CommandError("remove all containers", 1, "nothing listens on /run/containerd/containerd.sock, and containers run on without their runtime")
	}
	do.m.Pods, do.m.Daemons = nil, nil
	do.m.PodsChanged()
	do.m.Links = slices.DeleteFunc(do.m.Links, podLink)
	do.servers.Advance(timePods)
	return true, nil
}

func (do Operations) unmount(dir string) bool {
	n := len(do.m.Mounts)
	do.m.Mounts = slices.DeleteFunc(do.m.Mounts, func(p string) bool { return p == dir || file.Below(p, dir) })
	return len(do.m.Mounts) != n
}

// podBridge is the bridge that the links of pods are attached to.
const podBridge = "cni0"

// podLink reports whether a link leads to a pod: it is not attached to another bridge,
// whose name would be its suffix.
func podLink(link string) bool {
	return strings.HasPrefix(link, "veth") && !strings.Contains(link, "@")
}

func (do Operations) removeNetwork(patterns []string) bool {
	changed := len(do.m.Rules) > 0
	do.m.Rules = nil
	n := len(do.m.Links)
	goes := func(link string) bool {
		return slices.ContainsFunc(patterns, func(pattern string) bool { return Matches(pattern, link) })
	}
	bridge := slices.ContainsFunc(do.m.Links, func(link string) bool { return link == podBridge && goes(link) })
	do.m.Links = slices.DeleteFunc(do.m.Links, func(link string) bool { return goes(link) || bridge && podLink(link) })
	return changed || len(do.m.Links) != n
}

// Matches reports whether a text matches a pattern of path.Match. An empty pattern matches
// everything.
func Matches(pattern, s string) bool {
	ok, _ := path.Match(pattern, s)
	return pattern == "" || ok || pattern == s
}

package skew

import (
	"fmt"
	"maps"
	"slices"
)

// Skew rules of Kubernetes (https://kubernetes.io/releases/version-skew-policy):
// API servers within one minor version of each other; a kubelet and kube-proxy
// not newer than any API server and at most three minors older; controller
// manager and scheduler not newer than the API server beside them and at most
// one minor older.
const (
	// MaxKubelet is how many minor versions older than an API server a kubelet may be.
	MaxKubelet   = 3
	apiSkew      = 1
	managerSkew  = 1
	kubeletLimit = "a kubelet must not be newer than any API server, and at most three minor versions older"
)

// Versions are the versions of a cluster's components by node at one moment.
type Versions struct {
	APIServers, ControllerManagers, Schedulers, Kubelets map[string]Release
}

// Violations lists the violated rules; none if all versions may run together.
func (v Versions) Violations() []error {
	var broken []error
	oldest, newest, any := bounds(v.APIServers)
	if !any {
		return nil
	}
	if newest.Minor-oldest.Minor > apiSkew {
		broken = append(broken, fmt.Errorf("API servers run %s and %s: they may be at most one minor version apart", oldest, newest))
	}
	for _, node := range slices.Sorted(maps.Keys(v.Kubelets)) {
		if err := KubeletFits(v.Kubelets[node], oldest, newest); err != nil {
			broken = append(broken, fmt.Errorf("%s: %w", node, err))
		}
	}
	for _, c := range []struct {
		name string
		on   map[string]Release
	}{{"kube-controller-manager", v.ControllerManagers}, {"kube-scheduler", v.Schedulers}} {
		for _, node := range slices.Sorted(maps.Keys(c.on)) {
			// They use the API server of their own node.
			if api, here := v.APIServers[node]; here && !within(c.on[node], api, managerSkew) {
				broken = append(broken, fmt.Errorf("%s: %s %s does not fit the API server %s on the same node", node, c.name, c.on[node], api))
			}
		}
	}
	return broken
}

// KubeletFits reports whether a kubelet may run with API servers from oldest to newest.
func KubeletFits(kubelet, oldest, newest Release) error {
	if within(kubelet, oldest, MaxKubelet) && within(kubelet, newest, MaxKubelet) {
		return nil
	}
	apis := newest.String()
	if oldest != newest {
		apis = oldest.String() + " to " + apis
	}
	return fmt.Errorf("kubelet %s does not fit API server %s: %s", kubelet, apis, kubeletLimit)
}

// within reports whether the minor version of a component is not newer than the API server's, and
// at most skew minor versions older.
func within(component, api Release, skew int) bool {
	return component.Major == api.Major && component.Minor <= api.Minor && component.Minor >= api.Minor-skew
}

func bounds(of map[string]Release) (oldest, newest Release, any bool) {
	for _, r := range of {
		if !any || r.Compare(oldest) < 0 {
			oldest = r
		}
		if !any || r.Compare(newest) > 0 {
			newest = r
		}
		any = true
	}
	return oldest, newest, any
}

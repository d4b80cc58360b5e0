package planner

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Skew rules of Kubernetes (https://kubernetes.io/releases/version-skew-policy):
// API servers within one minor version of each other; a kubelet and kube-proxy
// not newer than any API server and at most three minors older; controller
// manager and scheduler not newer than the API server beside them and at most
// one minor older.
const (
	// KubeletSkew is how many minor versions older than an API server a kubelet may be.
	KubeletSkew  = 3
	apiSkew      = 1
	managerSkew  = 1
	kubeletLimit = "a kubelet must not be newer than any API server, and at most three minor versions older"
)

// Release is a version of Kubernetes, as in 1.36.3. Its zero value is unknown.
type Release struct {
	Major, Minor, Patch int
	// Pre is what stands behind a hyphen; empty for a release.
	Pre string
}

// ParseRelease reads 1.36.3, with or without v, and with or without what stands
// behind a hyphen or plus; false for anything else.
func ParseRelease(s string) (Release, bool) {
	s, _, _ = strings.Cut(strings.TrimPrefix(s, "v"), "+")
	s, pre, _ := strings.Cut(s, "-")
	parts := strings.Split(s, ".")
	if len(parts) != 3 {
		return Release{}, false
	}
	var n [3]int
	for i, p := range parts {
		v, err := strconv.ParseUint(p, 10, 16)
		if err != nil {
			return Release{}, false
		}
		n[i] = int(v)
	}
	return Release{n[0], n[1], n[2], pre}, true
}

// String returns the release without v.
func (r Release) String() string {
	s := fmt.Sprintf("%d.%d.%d", r.Major, r.Minor, r.Patch)
	if r.Pre != "" {
		s += "-" + r.Pre
	}
	return s
}

// Compare orders releases; a pre-release comes before its release.
func (r Release) Compare(o Release) int {
	if c := cmp.Or(cmp.Compare(r.Major, o.Major), cmp.Compare(r.Minor, o.Minor), cmp.Compare(r.Patch, o.Patch)); c != 0 || r.Pre == o.Pre {
		return c
	}
	if r.Pre == "" || o.Pre != "" && r.Pre > o.Pre {
		return 1
	}
	return -1
}

// minorName is 1.36.
func (r Release) minorName() string { return fmt.Sprintf("%d.%d", r.Major, r.Minor) }

// Hops returns the versions that the control planes of a cluster go through, one
// after another, from the oldest API server that runs to the wanted version:
// no minor version is left out. Of each minor on the way, through has the patch
// release to take, by its number. Kubelets need not follow each hop. The error
// says why the wanted version cannot be reached, and what to do.
func Hops(oldest, newest, want Release, through map[int]Release) ([]Release, error) {
	switch {
	case oldest.Major != want.Major || newest.Major != want.Major:
		return nil, fmt.Errorf("there is no upgrade path from %s to %s: an upgrade goes from one minor version to the next", oldest, want)
	case want.Compare(newest) < 0:
		return nil, fmt.Errorf("an API server already runs %s, and Kubernetes cannot be downgraded: what it has stored may be in a form that %s does not read. "+
			"Set kubernetes_version = %q", newest, want, newest)
	case newest.Minor-oldest.Minor > apiSkew:
		return nil, fmt.Errorf("API servers run %s and %s, which are more than one minor version apart. Upgrade the older ones to %s by hand first, one minor version after another", oldest, newest, newest.minorName())
	}
	var hops []Release
	for minor := oldest.Minor + 1; minor < want.Minor; minor++ {
		// Some API servers are there already: the others follow to the same version.
		next, known := through[minor]
		if newest.Minor == minor {
			next, known = newest, true
		}
		if !known {
			return nil, unknownOnTheWay(oldest, want, through)
		}
		hops = append(hops, next)
	}
	if oldest != want {
		hops = append(hops, want)
	}
	return hops, nil
}

// unknownOnTheWay says which minor versions on the way are not known, and that somebody
// else has to bring the control planes to the last of them: from there it is one step.
func unknownOnTheWay(oldest, want Release, through map[int]Release) error {
	var unknown []string
	for minor := oldest.Minor + 1; minor < want.Minor; minor++ {
		if _, known := through[minor]; !known {
			unknown = append(unknown, fmt.Sprintf("%d.%d", want.Major, minor))
		}
	}
	return fmt.Errorf("from %s to %s the control planes pass through %s, and this kubewright supports no such release. "+
		"Bring them to %s first with the tool that created the cluster, and plan again",
		oldest, want, strings.Join(unknown, " and "), unknown[len(unknown)-1])
}

// Versions are those of a cluster's components by node: what runs at one moment.
type Versions struct {
	APIServers, ControllerManagers, Schedulers, Kubelets map[string]Release
}

// Skew lists the rules that versions break; none when all may run together.
func (v Versions) Skew() []error {
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
			// They speak with the API server of their own node.
			if api, here := v.APIServers[node]; here && !within(c.on[node], api, managerSkew) {
				broken = append(broken, fmt.Errorf("%s: %s %s does not fit the API server %s on the same node", node, c.name, c.on[node], api))
			}
		}
	}
	return broken
}

// KubeletFits reports whether a kubelet may run with API servers from oldest to newest.
func KubeletFits(kubelet, oldest, newest Release) error {
	if within(kubelet, oldest, KubeletSkew) && within(kubelet, newest, KubeletSkew) {
		return nil
	}
	apis := newest.String()
	if oldest != newest {
		apis = oldest.String() + " to " + apis
	}
	return fmt.Errorf("kubelet %s does not fit API server %s: %s", kubelet, apis, kubeletLimit)
}

// within reports whether a component is not newer than the API server by its minor,
// and not more minors older than it may be.
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

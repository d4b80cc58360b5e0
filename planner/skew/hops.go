package skew

import (
	"fmt"
	"strings"
)

// Hops returns the versions that the control planes of a cluster go through, one after another,
// from the oldest running API server to the desired version, without skipping a minor version.
// through has the patch release to use for each intermediate minor version. Kubelets need not
// follow each hop. The error says why the desired version cannot be reached, and what to do.
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
		// Some API servers already have this minor version: the others follow to the same release.
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

// unknownOnTheWay returns the error for unknown intermediate minor versions: another tool has to
// upgrade the control planes to the last of them, from where one step remains.
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

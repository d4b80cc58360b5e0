package skew

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Release is a version of Kubernetes, as in 1.36.3. The zero value means unknown.
type Release struct {
	Major, Minor, Patch int
	// Pre is the part after a hyphen; empty for a release.
	Pre string
}

// ParseRelease parses 1.36.3, with or without v, and with or without a suffix after a hyphen or
// plus; false for anything else.
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

// minorName returns the minor version, as in 1.36.
func (r Release) minorName() string { return fmt.Sprintf("%d.%d", r.Major, r.Minor) }

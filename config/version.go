package config

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var versionPattern = regexp.MustCompile(`^v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?(-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$`)

// version is MAJOR.MINOR.PATCH with the number of parts that were written.
type version struct {
	n          [3]int
	parts      int
	prerelease string
}

func parseVersion(s string) (version, bool) {
	m := versionPattern.FindStringSubmatch(s)
	if m == nil {
		return version{}, false
	}
	v := version{prerelease: m[4]}
	for i := range v.n {
		if m[i+1] != "" {
			v.n[i], _ = strconv.Atoi(m[i+1])
			v.parts = i + 1
		}
	}
	return v, true
}

// compare orders versions; a prerelease comes before its release.
func (v version) compare(w version) int {
	for i := range v.n {
		if c := cmp.Compare(v.n[i], w.n[i]); c != 0 {
			return c
		}
	}
	switch {
	case v.prerelease == w.prerelease:
		return 0
	case v.prerelease == "":
		return 1
	case w.prerelease == "":
		return -1
	}
	return strings.Compare(v.prerelease, w.prerelease)
}

// VersionMatches reports whether a version satisfies constraints such as ">= 0.1.0, < 2.0.0". A
// development version (-dev) counts as the release that it will be.
func VersionMatches(have, constraints string) (bool, error) {
	v, ok := parseVersion(have)
	if !ok {
		return false, fmt.Errorf("%q is no version", have)
	}
	if v.prerelease == "-dev" {
		v.prerelease = ""
	}
	all := true
	for c := range strings.SplitSeq(constraints, ",") {
		op := strings.TrimSpace(c)
		text := strings.TrimLeft(op, "=!<>~ ")
		op = strings.TrimSpace(strings.TrimSuffix(op, text))
		w, ok := parseVersion(text)
		if !ok {
			return false, fmt.Errorf("%q is no version constraint; write one such as \">= 0.1.0, < 2.0.0\"", strings.TrimSpace(c))
		}
		fits, err := v.fits(op, w)
		if err != nil {
			return false, err
		}
		all = all && fits
	}
	return all, nil
}

func (v version) fits(op string, w version) (bool, error) {
	c := v.compare(w)
	switch op {
	case "", "=":
		return c == 0, nil
	case "!=":
		return c != 0, nil
	case ">":
		return c > 0, nil
	case ">=":
		return c >= 0, nil
	case "<":
		return c < 0, nil
	case "<=":
		return c <= 0, nil
	case "~>":
		upper := w
		upper.prerelease = ""
		last := max(0, w.parts-2)
		upper.n[last]++
		clear(upper.n[last+1:])
		return c >= 0 && v.compare(upper) < 0, nil
	}
	return false, fmt.Errorf("%q is no operator; the operators are =, !=, >, >=, <, <= and ~>", op)
}

package minor

import (
	"fmt"
	"go/format"
	"regexp"
	"strconv"
	"strings"
)

// The files with a row for each minor version: how its kubeadm behaves, and what the lab builds.
const (
	releasesFile = "planner/kubeadm/versions.go"
	labFile      = "cmd/lab/internal/build/releases.go"
)

// releaseRow is the row of a minor version in releasesFile, and labRow that in labFile.
func releaseRow(minor int) *regexp.Regexp {
	return regexp.MustCompile(`(?s)\n\t\{\n\t\tminor: ` + strconv.Itoa(minor) + `,.*?\n\t\},`)
}

func labRow(minor int) *regexp.Regexp {
	return regexp.MustCompile(`\n\t\t\{Kubernetes: "v1\.` + strconv.Itoa(minor) + `\.[^\n]*`)
}

func (c *Checkout) removeReleases() {
	c.texts[releasesFile] = releaseRow(c.last).ReplaceAllString(c.texts[releasesFile], "")
	c.texts[labFile] = labRow(c.last).ReplaceAllString(c.texts[labFile], "")
}

// addReleases adds the rows of a minor version that has none, the behaviour of kubeadm as in the minor
// version before, without what held for its earlier patch releases.
func (c *Checkout) addReleases(f Facts) []string {
	var left []string
	if labRow(f.Minor).FindString(c.texts[labFile]) == "" {
		before := labRow(f.Minor - 1).FindString(c.texts[labFile])
		row := fmt.Sprintf("\n\t\t{Kubernetes: %q, Etcd: %q, CoreDNS: %q, Pause: %q},", "v"+f.Patch, "v"+strings.TrimSuffix(f.Etcd, "-0"), f.CoreDNS, f.Pause)
		c.texts[labFile] = strings.Replace(c.texts[labFile], before, before+row, 1)
	}
	if releaseRow(f.Minor).FindString(c.texts[releasesFile]) == "" {
		before := releaseRow(f.Minor - 1).FindString(c.texts[releasesFile])
		_, rest, _ := strings.Cut(before, "\n\t\t") // the first line of the row
		_, behaviour, _ := strings.Cut(rest, "\n")
		behaviour = regexp.MustCompile(`(?m)^\t\tolder:.*\n|since\w+: +\d+,( |\n\t\t|$)`).ReplaceAllString(behaviour, "")
		_, patch, _ := strings.Cut(strings.TrimPrefix(f.Patch, "1."), ".")
		row := fmt.Sprintf("\n\t{\n\t\tminor: %d, newest: %s, etcd: %q, coreDNS: %q, pause: %q,\n%s", f.Minor, patch, f.Etcd, f.CoreDNS, f.Pause, behaviour)
		text := strings.Replace(c.texts[releasesFile], before, before+row, 1)
		if formatted, err := format.Source([]byte(text)); err == nil {
			text = string(formatted)
		}
		c.texts[releasesFile] = text
		left = append(left, releasesFile+": kubeadm behaves as in the minor version before; the oracle says where it does not. List in unknownKubelet of the older rows the fields that KubeletConfiguration has now.")
	}
	return left
}

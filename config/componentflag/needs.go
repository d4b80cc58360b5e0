package componentflag

import (
	_ "embed" // the list of gates that need others
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

//go:embed needs.txt
var needList string

// needing is a feature gate that needs others, or that others need, in one minor version.
type needing struct {
	stage  string
	on     bool
	needed []string
}

// needsOf parses the list for a minor version, when a configuration sets gates: parsed before main it would
// cost every command.
func needsOf(minor int) map[string]needing {
	out := map[string]needing{}
	for line := range strings.Lines(needList) {
		words := strings.Fields(line)
		if words[0] != "#" && slices.Contains(strings.Split(words[1], ","), strconv.Itoa(minor)) {
			out[words[0]] = needing{words[2], words[3] == "on", words[4:]}
		}
	}
	return out
}

// isOn reports whether a gate is on where some are set (k8s.io/component-base/featuregate).
func isOn(known map[string]needing, set map[string]bool, gate string) bool {
	if on, given := set[gate]; given {
		return on
	}
	stage := map[string]string{"alpha": "AllAlpha", "beta": "AllBeta"}[known[gate].stage]
	if on, given := set[stage]; given {
		return on
	}
	return known[gate].on
}

// UnmetNeeds returns what a component of a minor version refuses of the feature gates that are set, which it
// knows: a gate that is on while one that it needs is off. Each begins with the gate that was set.
func UnmetNeeds(component string, set map[string]bool, minor int) []Conflict {
	if len(set) == 0 {
		return nil
	}
	known := needsOf(minor)
	var out []Conflict
	for _, gate := range slices.Sorted(maps.Keys(known)) {
		for _, needed := range known[gate].needed {
			if isOn(known, set, gate) && !isOn(known, set, needed) {
				out = append(out, Conflict{gate, fmt.Sprintf("the feature gate %s is on and needs %s, which is off, and %s 1.%d would not start. Set both alike.", gate, needed, component, minor)})
			}
		}
	}
	return out
}

// GatesOf returns the feature gates of a flag; what is not NAME=true or NAME=false is reported by itself.
func GatesOf(value string) map[string]bool {
	out := map[string]bool{}
	for part := range strings.SplitSeq(value, ",") {
		name, on, _ := strings.Cut(part, "=")
		if set, err := strconv.ParseBool(strings.TrimSpace(on)); err == nil {
			out[strings.TrimPrefix(strings.TrimSpace(name), "kube:")] = set
		}
	}
	return out
}

package componentflag

import (
	_ "embed" // the list of feature gates
	"maps"
	"slices"
	"strconv"
	"strings"
)

//go:embed gates.txt
var gateList string

// Gate is a gate of a component in one minor version.
type Gate struct {
	// Locked is the only accepted value, "true" or "false"; empty if both are.
	Locked string
}

// Gates are the gates of API server, controller manager, scheduler,
// kubelet and kube-proxy, by minor version.
var Gates = parseGates(gateList)

func parseGates(text string) map[int]map[string]Gate {
	out := map[int]map[string]Gate{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		for _, w := range minorsOf(words[1:]) {
			number, locked, _ := strings.Cut(w, "=")
			minor, err := strconv.Atoi(number)
			if err != nil {
				panic("internal error: gates.txt: " + line)
			}
			if out[minor] == nil {
				out[minor] = map[string]Gate{}
			}
			out[minor][words[0]] = Gate{locked}
		}
	}
	return out
}

// GatesKnown returns the gates of a component in a minor version.
func GatesKnown(component string, minor int) map[string]Gate {
	const notOfScheduler = "ControllerManagerReleaseLeaderElectionLockOnExit"
	known := Gates[minor]
	if _, there := known[notOfScheduler]; there && component == "kube-scheduler" {
		known = maps.Clone(known)
		delete(known, notOfScheduler)
	}
	return known
}

// GateMinors returns the minor versions that have a gate, in order.
func GateMinors(name string) []string {
	var known []string
	for _, minor := range slices.Sorted(maps.Keys(Gates)) {
		if _, ok := Gates[minor][name]; ok {
			known = append(known, strconv.Itoa(minor))
		}
	}
	return known
}

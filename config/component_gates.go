package config

import (
	_ "embed" // the list of feature gates
	"slices"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/state"
)

//go:embed feature_gates.txt
var featureGateList string

// componentGate is a gate of a component in one minor version.
type componentGate struct {
	// locked is the only accepted value, "true" or "false"; empty if both are.
	locked string
}

// componentGates are the gates of API server, controller manager, scheduler,
// kubelet and kube-proxy, by minor version.
var componentGates = parseGates(featureGateList)

func parseGates(text string) map[int]map[string]componentGate {
	out := map[int]map[string]componentGate{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		for _, w := range words[1:] {
			number, locked, _ := strings.Cut(w, "=")
			minor, err := strconv.Atoi(number)
			if err != nil {
				panic("internal error: feature_gates.txt: " + line)
			}
			if out[minor] == nil {
				out[minor] = map[string]componentGate{}
			}
			out[minor][words[0]] = componentGate{locked}
		}
	}
	return out
}

// componentGate checks a gate of a component: an unknown gate, or one that is locked to the
// other value, keeps the component from starting.
func (c checker) componentGate(path, component, name, value string) {
	known := componentGates[c.minor]
	if known == nil {
		return
	}
	g, ok := known[name]
	switch {
	case !ok:
		c.errorf(path, "Unknown feature gate", "%s has no feature gate %q, and would not start.%s", release(component, c.minor), name, instead(gateVersions(name), name, keys(known), "Take it out."))
	case g.locked != "" && g.locked != value:
		c.errorf(path, "Feature gate is locked", "%s is always %s in %s 1.%d, which would not start. Remove it.", name, g.locked, component, c.minor)
	}
}

// gateVersions returns the minor versions that have a gate.
func gateVersions(name string) []string {
	var known []string
	for minor := MinMinor; minor <= MaxMinor; minor++ {
		if _, ok := componentGates[minor][name]; ok {
			known = append(known, strconv.Itoa(minor))
		}
	}
	return known
}

// gateList checks the form NAME=true,NAME=false of an argument.
func (c checker) gateList(path, component, value string) {
	for part := range strings.SplitSeq(value, ",") {
		name, on, ok := strings.Cut(part, "=")
		name = strings.TrimSpace(name)
		if part == "" {
			continue
		}
		value, err := strconv.ParseBool(strings.TrimSpace(on))
		if !ok || name == "" || err != nil {
			c.errorf(path, "Invalid feature gates", "%s is not NAME=true or NAME=false; several are separated by commas.", c.show(path, part))
			continue
		}
		if component == "etcd" {
			c.etcdGate(path, name)
			continue
		}
		// The API server accepts a gate with the name of its component; Kubernetes' own
		// component is kube.
		c.componentGate(path, component, strings.TrimPrefix(name, "kube:"), strconv.FormatBool(value))
	}
}

// etcdGate checks a gate of etcd, which has its own.
func (c checker) etcdGate(path, name string) {
	known := valuesOf("etcd-gates", c.minor)
	if len(known) == 0 || c.ownEtcd("etcd") || slices.Contains(known, name) {
		return
	}
	c.errorf(path, "Unknown feature gate", "%s has no feature gate %q, and would not start.%s", release("etcd", c.minor), name, instead(componentValues["etcd-gates"][name], name, known, "It has "+list(known)+"."))
}

// gateMap checks the field featureGates of a component's configuration.
func (c checker) gateMap(path, component string, gates state.Value) {
	for _, name := range gates.Keys() {
		if on := gates.AsMap()[name]; on.Kind() == state.KindBool {
			c.componentGate(state.JoinPath(path, name), component, name, strconv.FormatBool(on.AsBool()))
		}
	}
}

package config

import (
	"slices"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/config/componentflag"
	"github.com/kubewright/kubewright/state"
)

// componentGate checks a gate of a component: an unknown gate, or one that is locked to the
// other value, keeps the component from starting.
func (c checker) componentGate(path, component, name, value string) {
	known := componentflag.GatesKnown(component, c.minor)
	if known == nil {
		return
	}
	g, ok := known[name]
	switch {
	case !ok:
		c.errorf(path, "Unknown feature gate", "%s has no feature gate %q, and would not start.%s", release(component, c.minor), name, instead(componentflag.GateMinors(name), name, keys(known), "Take it out."))
	case g.Locked != "" && g.Locked != value:
		c.errorf(path, "Feature gate is locked", "%s is always %s in %s 1.%d, which would not start. Remove it.", name, g.Locked, component, c.minor)
	}
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
	known := componentflag.ValuesOf("etcd-gates", c.minor)
	if len(known) == 0 || c.ownEtcd("etcd") || slices.Contains(known, name) {
		return
	}
	c.errorf(path, "Unknown feature gate", "%s has no feature gate %q, and would not start.%s", release("etcd", c.minor), name, instead(componentflag.Values["etcd-gates"][name], name, known, "It has "+list(known)+"."))
}

// gateMap checks the field featureGates of a component's configuration.
func (c checker) gateMap(path, component string, gates state.Value) {
	for _, name := range gates.Keys() {
		if on := gates.AsMap()[name]; on.Kind() == state.KindBool {
			c.componentGate(state.JoinPath(path, name), component, name, strconv.FormatBool(on.AsBool()))
		}
	}
}

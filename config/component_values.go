package config

import (
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/componentflag"
)

// value checks a value by the type of its flag.
func (c checker) value(path, component string, a Arg) {
	flag := componentflag.FlagName(component, a.Name)
	kind, set, _ := strings.Cut(componentflag.Flags[component][flag].Type, ":")
	if takes := componentflag.Takes(component, flag, a.Value, c.minor); takes != "" && kind != "" && (!c.ownEtcd(component) || componentflag.OfMember(flag)) {
		c.errorf(path, "Invalid argument value", "%s is not what --%s takes: %s. %s would not start.", c.show(path, a.Value), flag, takes, component)
		return
	}
	switch kind {
	case "", "text": // an unknown flag, which is reported, or any text
	case "one":
		c.ofSet(path, component, flag, set, a.Value)
	case "some":
		parts, err := componentflag.SplitList(a.Value)
		if err != nil {
			c.mistyped(path, component, flag, "list", a.Value)
		}
		for _, part := range parts {
			c.ofSet(path, component, flag, set, part)
		}
	case "suites":
		c.cipherSuites(path, strings.Split(a.Value, ","))
	case "gates":
		c.gateList(path, component, a.Value)
	case "labels":
		c.kubeletLabels(path, a.Value)
	case "taints":
		c.kubeletTaints(path, a.Value)
	default:
		if !componentflag.Types[kind].Reads(a.Value) {
			c.mistyped(path, component, flag, kind, a.Value)
		}
	}
}

func (c checker) mistyped(path, component, flag, kind, value string) {
	c.errorf(path, "Invalid argument value", "%s is not what --%s takes: %s. %s would not start.", c.show(path, value), flag, componentflag.Types[kind].Takes, component)
}

// ofSet checks that a value is in a closed set; empty is not written.
func (c checker) ofSet(path, component, flag, set, value string) {
	known := componentflag.ValuesOf(set, c.minor)
	name := value
	if set == "controllers" {
		name = strings.TrimPrefix(value, "-") // a disabled one
	}
	if value == "" || len(known) == 0 || slices.Contains(known, name) {
		return
	}
	c.errorf(path, "Invalid argument value", "%s is no value of --%s that %s knows.%s", c.show(path, value), flag, release(component, c.minor), instead(componentflag.Values[set][name], name, known, "It knows "+list(known)+"."))
}

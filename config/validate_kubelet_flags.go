package config

import (
	"fmt"
	"maps"
	"slices"

	"github.com/kubewright/kubewright/config/componentflag"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

// flagTree returns the configuration that flags of the kubelet amount to; the last of a name counts.
func flagTree(args []Arg) state.Value {
	out := state.Null()
	for _, a := range args {
		out = MergeTrees(out, componentflag.KubeletTree(componentflag.FlagName("kubelet", a.Name), a.Value))
	}
	return out
}

// originsWithFlags returns the origins with those of fields that only flags set.
func originsWithFlags(of Origins, args []Arg) Origins {
	out := maps.Clone(of)
	for _, a := range args {
		field := componentflag.KubeletField(componentflag.FlagName("kubelet", a.Name))
		if _, written := of["kubelet.config."+field]; field != "" && !written {
			out["kubelet.config."+field] = a.Source
		}
	}
	return out
}

// checkKubeletFlags checks flags of the kubelet as the fields that they override. Flags whose values
// are reported already, or must not be shown, are left out.
func checkKubeletFlags(c checker, args []Arg) {
	for _, a := range args {
		name := componentflag.FlagName("kubelet", a.Name)
		reported := slices.ContainsFunc(*c.out, func(d *diag.Diagnostic) bool { return d.Severity == diag.Error && d.Subject == a.Source })
		if reported || c.hidden[fmt.Sprintf("kubelet.arg[%q]", a.Name)] {
			continue
		}
		var found diag.Diagnostics
		one := c
		one.out, one.here = &found, a.Source
		one.kubeletFields(componentflag.KubeletTree(name, a.Value))
		for _, d := range found {
			d.Detail = fmt.Sprintf("--%s sets %s of the kubelet's configuration. %s", name, componentflag.KubeletField(name), d.Detail)
			c.out.Append(d)
		}
	}
}

// checkOverridden warns of fields of the kubelet's configuration that flags override; k is what one
// block adds to the rest.
func checkOverridden(c checker, k, base Kubelet) {
	all := MergeTrees(base.Config, k.Config)
	for i, a := range slices.Concat(base.Args, k.Args) {
		name := componentflag.FlagName("kubelet", a.Name)
		field := componentflag.KubeletField(name)
		if field == "" || field == "featureGates" || all.Get(field).IsNull() || i < len(base.Args) && k.Config.Get(field).IsNull() {
			continue
		}
		if tree := componentflag.KubeletTree(name, a.Value); !tree.IsNull() && !tree.Get(field).Equal(all.Get(field)) {
			c.out.Append(diag.Warningf("Argument overrides a field", "--%s overrides %s of kubelet { config }, which has no effect: a kubelet's flags win over its configuration. Remove one of the two.", name, field).At(a.Source).In(c.block).For(c.about))
		}
	}
}

// checkTogether refuses arguments of a component of which one does not go with another.
func checkTogether(c checker, block, component string, args []Arg) {
	var flags [][2]string
	for _, a := range args {
		flags = append(flags, [2]string{a.Name, a.Value})
	}
	for _, x := range componentflag.Together(component, flags, c.minor) {
		path := fmt.Sprintf("%s.arg[%q]", block, x.Flag)
		c.errorf(path, "Arguments do not go together", "%s", x.Text(c.show(path, "")))
	}
}

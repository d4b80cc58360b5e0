package config

import (
	"slices"
	"strconv"

	"github.com/kubewright/kubewright/config/componentflag"
)

// ownEtcd reports whether the user chose the image of etcd: its flags and gates are then
// unknown.
func (c checker) ownEtcd(component string) bool {
	return component == "etcd" && c.written("etcd.image_tag")
}

// flag checks that a component has a flag: with any other it exits.
func (c checker) flag(component string, a Arg) {
	known := componentflag.Flags[component]
	if c.minor == 0 || c.ownEtcd(component) {
		return
	}
	name, minor := componentflag.FlagName(component, a.Name), strconv.Itoa(c.minor)
	if slices.Contains(known[name].Minors, minor) {
		return
	}
	var now []string
	for _, flag := range keys(known) {
		if slices.Contains(known[flag].Minors, minor) {
			now = append(now, flag)
		}
	}
	c.errorAt(a.Source, "Unknown argument", "%s has no flag --%s, and would not start.%s", release(component, c.minor), a.Name, instead(known[name].Minors, name, now, "Take it out."))
}

// release names a component of a minor version for a message.
func release(component string, minor int) string {
	if component == "etcd" {
		return "etcd of Kubernetes 1." + strconv.Itoa(minor)
	}
	return component + " 1." + strconv.Itoa(minor)
}

// instead says what to write in place of a name that a version does not have: the minor
// versions that have it, or else a similar name, or else the rest.
func instead(minors []string, given string, names []string, rest string) string {
	var versions []string
	for _, minor := range minors {
		versions = append(versions, "1."+minor)
	}
	if len(versions) == 0 {
		return didYouMeanOr(given, names, rest)
	}
	return " It is known in " + list(versions) + ": choose such a version, or remove it."
}

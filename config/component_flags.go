package config

import (
	_ "embed" // the list of flags
	"slices"
	"strconv"
	"strings"
)

//go:embed component_flags.txt
var componentFlagList string

// componentFlag is a known flag: its type, and the minor versions that have it.
type componentFlag struct {
	valueType string
	minors    []string
}

// componentFlags are the flags by component and name.
var componentFlags = parseFlags(componentFlagList)

func parseFlags(text string) map[string]map[string]componentFlag {
	out := map[string]map[string]componentFlag{}
	for component, flags := range parseTable(text) {
		out[component] = map[string]componentFlag{}
		for name, words := range flags {
			out[component][name] = componentFlag{words[0], words[1:]}
		}
	}
	return out
}

// parseTable parses lines of words: the words after the second, by the first and the second.
func parseTable(text string) map[string]map[string][]string {
	out := map[string]map[string][]string{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if words[0] == "#" {
			continue
		}
		if out[words[0]] == nil {
			out[words[0]] = map[string][]string{}
		}
		out[words[0]][words[1]] = words[2:]
	}
	return out
}

// flagName returns the name of an argument as the component reads it.
func flagName(component, name string) string {
	if component == "etcd" {
		return name
	}
	return strings.ReplaceAll(name, "_", "-") // as the flags of Kubernetes do
}

// ownEtcd reports whether the user chose the image of etcd: its flags and gates are then
// unknown.
func (c checker) ownEtcd(component string) bool {
	return component == "etcd" && c.written("etcd.image_tag")
}

// flag checks that a component has a flag: with any other it exits.
func (c checker) flag(component string, a Arg) {
	known := componentFlags[component]
	if c.minor == 0 || c.ownEtcd(component) {
		return
	}
	name, minor := flagName(component, a.Name), strconv.Itoa(c.minor)
	if slices.Contains(known[name].minors, minor) {
		return
	}
	var now []string
	for _, flag := range keys(known) {
		if slices.Contains(known[flag].minors, minor) {
			now = append(now, flag)
		}
	}
	c.errorAt(a.Source, "Unknown argument", "%s has no flag --%s, and would not start.%s", release(component, c.minor), a.Name, instead(known[name].minors, name, now, "Take it out."))
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

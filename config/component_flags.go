package config

import (
	_ "embed" // the list of flags
	"slices"
	"strconv"
	"strings"
)

//go:embed component_flags.txt
var componentFlagList string

// componentFlags are the minor versions that know a flag, by component and flag.
var componentFlags = parseFlags(componentFlagList)

func parseFlags(text string) map[string]map[string][]string {
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

// flag checks that a component knows a flag: it exits on any other. Of an image of
// etcd that somebody chose, nobody here knows which flags it has.
func (c checker) flag(component string, a Arg) {
	known := componentFlags[component]
	if c.minor == 0 || component == "etcd" && c.written("etcd.image_tag") {
		return
	}
	name, minor := a.Name, strconv.Itoa(c.minor)
	if component != "etcd" {
		name = strings.ReplaceAll(name, "_", "-") // as those of Kubernetes read it
	}
	if slices.Contains(known[name], minor) {
		return
	}
	var now []string
	for _, flag := range keys(known) {
		if slices.Contains(known[flag], minor) {
			now = append(now, flag)
		}
	}
	of := component + " 1." + minor
	if component == "etcd" {
		of = "etcd of Kubernetes 1." + minor
	}
	c.errorAt(a.Source, "Unknown argument", "%s has no flag --%s, and would not start.%s%s", of, a.Name, didYouMean(name, now), knownIn(known[name]))
}

// knownIn says which minor versions know something, where some do.
func knownIn(minors []string) string {
	var versions []string
	for _, minor := range minors {
		versions = append(versions, "1."+minor)
	}
	if len(versions) == 0 {
		return ""
	}
	return " It is known in " + list(versions) + "."
}

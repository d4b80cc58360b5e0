package refusal

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/kubewright/kubewright/config/componentflag"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/cache"
)

// A Start is a component that starts.
type Start struct {
	// Component is its name, such as kube-apiserver.
	Component string
	// Minor is the minor version of Kubernetes; see EtcdMinor.
	Minor int
	// Flags are --NAME=VALUE.
	Flags []string
	// Config is its configuration, and Path the file that it is in.
	Config state.Value
	Path   string
}

// EtcdMinor returns the minor version of Kubernetes whose etcd has an image's tag, or 0.
func EtcdMinor(tag string) int {
	version, _, _ := strings.Cut(tag, "-")
	return known().etcd["v"+strings.TrimPrefix(version, "v")]
}

// pathInTables is the path of a configuration in the words of the components that were asked.
const pathInTables = "/shared/config.yaml"

// Exits returns why the component exits; empty if it runs, or if nothing is known of its version.
func (s Start) Exits() string {
	given := flagsOf(s.Component, s.Flags)
	if s.Config.Kind() == state.KindMap {
		given = append(given, fieldsOf(s.Config)...)
	}
	slices.Sort(given)
	why := exits.Of(strings.Join(append([]string{s.Component, strconv.Itoa(s.Minor)}, given...), "\x00"))
	return strings.ReplaceAll(why, pathInTables, s.Path)
}

// exits is a cache, since kubelets and containers that exit are started again and again.
var exits = cache.New(func(in string) string {
	words := strings.Split(in, "\x00")
	return exit(words[0], words[1], words[2:])
})

// exit returns why a component exits with what it was given.
func exit(component, minor string, given []string) string {
	names := count(given)
	var of []verdict // all that were given
	var among []verdict
	asked := map[string]bool{}
	for _, g := range slices.Compact(slices.Clone(given)) {
		for _, v := range known().by[[2]string{component, g}] {
			switch {
			case !slices.Contains(v.minors, minor):
			case within(v.given, given):
				of = append(of, v)
			case v.reason == "" && covers(names, count(v.given)):
				among = append(among, v) // the same flags, and another value of one
			}
		}
	}
	for _, v := range of {
		if len(v.given) == 1 {
			asked[v.given[0]] = true
		}
		other := func(w verdict) bool {
			return w.reason == "" && len(w.given) > len(v.given) && within(v.given, w.given)
		}
		if v.reason != "" && !v.rests(given) && !slices.ContainsFunc(of, other) && !slices.ContainsFunc(among, other) {
			return v.reason
		}
	}
	for _, g := range given {
		if why := byRule(component, minor, g); why != "" && !asked[g] {
			return why
		}
	}
	return ""
}

// rests reports whether the reason of a verdict names something else that is given here, and was not when
// the component was asked: with it, the component may have another answer.
func (v verdict) rests(given []string) bool {
	words := strings.FieldsFunc(v.reason, func(r rune) bool {
		return r != '-' && r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	own := count(v.given)
	return slices.ContainsFunc(given, func(g string) bool {
		name := nameOf(g)
		if own[name] > 0 {
			return false
		}
		name = name[strings.LastIndex(name, ".")+1:]
		return slices.ContainsFunc(words, func(w string) bool { return strings.TrimLeft(w, "-") == name })
	})
}

// count returns how often each flag or field is given.
func count(given []string) map[string]int {
	out := map[string]int{}
	for _, g := range given {
		out[nameOf(g)]++
	}
	return out
}

// covers reports whether each flag or field of some is given at least as often.
func covers(given, some map[string]int) bool {
	for name, n := range some {
		if given[name] < n {
			return false
		}
	}
	return true
}

// within reports whether all of some words are among others.
func within(some, others []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(others, s) })
}

// byRule returns why a component exits with a flag about which none was asked. The words are those of
// the flag packages of Kubernetes and etcd, up to the reason, which is ours.
func byRule(component, minor, given string) string {
	name, value, _ := strings.Cut(given, "=")
	number, err := strconv.Atoi(minor)
	flags := componentflag.Flags[component]
	switch {
	case err != nil || strings.HasPrefix(name, ".") || componentflag.Gates[number] == nil:
		return ""
	case component == "etcd" && componentflag.OfMember(name): // a rule of kubewright's, not of etcd's
		return ""
	case len(flags) == 0: // kubewright knows none of its flags
		return ""
	}
	if !slices.Contains(flags[name].Minors, minor) {
		if component == "etcd" {
			return "flag provided but not defined: -" + name
		}
		return "unknown flag: --" + name
	}
	kind, set, _ := strings.Cut(flags[name].Type, ":")
	if t, checked := componentflag.Types[kind]; checked && !t.Reads(value) {
		return invalid(component, name, value, "it takes "+t.Takes)
	}
	if takes := componentflag.Takes(component, name, value, number); takes != "" {
		return invalid(component, name, value, "it takes "+takes)
	}
	if values := componentflag.ValuesOf(set, number); kind == "one" && value != "" && len(values) > 0 && !slices.Contains(values, value) {
		return invalid(component, name, value, "it takes "+strings.Join(values, ", "))
	}
	if kind == "gates" && component != "etcd" {
		return gates(component, number, value)
	}
	return ""
}

func invalid(component, name, value, why string) string {
	if component == "etcd" {
		return "invalid value " + strconv.Quote(value) + " for flag -" + name + ": " + why
	}
	return "invalid argument " + strconv.Quote(value) + " for \"--" + name + "\" flag: " + why
}

// gates returns why a component exits with feature gates (k8s.io/component-base/featuregate).
func gates(component string, minor int, value string) string {
	known := componentflag.GatesKnown(component, minor)
	for part := range strings.SplitSeq(value, ",") {
		name, on, _ := strings.Cut(part, "=")
		name = strings.TrimPrefix(strings.TrimSpace(name), "kube:")
		if name == "" {
			continue
		}
		set, err := strconv.ParseBool(strings.TrimSpace(on))
		gate, there := known[name]
		switch {
		case err != nil:
			return "invalid value of " + name + ": " + on + ", err: " + err.Error()
		case !there:
			return "unrecognized feature gate: " + name
		case gate.Locked != "" && gate.Locked != strconv.FormatBool(set):
			return "cannot set feature gate " + name + " to " + strconv.FormatBool(set) + ", feature is locked to " + gate.Locked
		}
	}
	return ""
}

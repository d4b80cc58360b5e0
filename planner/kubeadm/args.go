package kubeadm

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state"
)

// arguments returns a command line in kubeadm's order: the base sorted by name without arguments
// that the user sets too, then the user's in their order. Until 1.34.3 and in 1.35.0 all were
// sorted together.
func (s *settings) arguments(base []state.Arg, extra []config.Arg) []state.Arg {
	slices.SortFunc(base, compareArgs)
	var out []state.Arg
	for _, a := range base {
		if _, named := lastArg(extra, a.Name); !named {
			out = append(out, a)
		}
	}
	for _, a := range extra {
		out = append(out, state.Arg{Name: a.Name, Value: a.Value})
	}
	if !s.release.userOrder {
		slices.SortFunc(out, compareArgs)
	}
	return out
}

func compareArgs(a, b state.Arg) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Value, b.Value))
}

// lastArg returns the last value given for an argument, which is the effective one.
func lastArg(args []config.Arg, name string) (string, bool) {
	for _, a := range slices.Backward(args) {
		if a.Name == name {
			return a.Value, true
		}
	}
	return "", false
}

// keep returns a command with other values of some arguments, where it has these.
func keep(command []string, args map[string][]string) []string {
	for _, name := range slices.Sorted(maps.Keys(args)) {
		values, prefix := slices.Clone(args[name]), "--"+name+"="
		var out []string
		for _, word := range command {
			switch {
			case !strings.HasPrefix(word, prefix):
				out = append(out, word)
			case len(values) > 0:
				out, values = append(out, prefix+values[0]), values[1:]
			}
		}
		for _, value := range values {
			out = append(out, prefix+value)
		}
		command = out
	}
	return command
}

// flags formats arguments as words.
func flags(args []state.Arg) []string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = "--" + a.Name + "=" + a.Value
	}
	return out
}

// FlagName returns the name of a flag as its component reads it: all except etcd accept _ for -.
func FlagName(component, name string) string {
	if component == "etcd" {
		return name
	}
	return strings.ReplaceAll(name, "_", "-")
}

package hostfile

import (
	"fmt"
	"maps"
	"slices"

	"github.com/kubewright/kubewright/state"
)

// Content is a file block as far as it says what a component reads: its content, and what restarts for it.
type Content struct {
	Text     string
	Restarts []string
}

// Use is a path that a component reads or writes.
type Use struct {
	Path string
	// Argument is the argument with the path, or the one whose files have the same form.
	Argument string
	// By says where the path is if it is no argument's value: within one, or in another file, From.
	By, From string
	Writes   bool
}

// Uses returns the paths that a component uses: of its arguments, then of the files that restart it, then of
// what files of either name.
func Uses(component string, args []state.Arg, files map[string]Content) []Use {
	var out []Use
	add := func(u Use) {
		if !slices.ContainsFunc(out, func(o Use) bool { return o.Path == u.Path && o.Argument == u.Argument }) {
			out = append(out, u)
		}
	}
	for _, a := range args {
		for _, at := range PathsIn(component, a.Name, a.Value) {
			u := Use{Path: at, Argument: a.Name, Writes: Writes(component, a.Name)}
			if at != a.Value {
				u.By = "--" + a.Name
			}
			add(u)
		}
	}
	for _, at := range slices.Sorted(maps.Keys(files)) {
		if slices.Contains(files[at].Restarts, component) && !slices.ContainsFunc(out, func(u Use) bool { return u.Path == at }) {
			add(Use{Path: at})
		}
	}
	for i := 0; i < len(out); i++ {
		for _, r := range References(out[i].Argument, out[i].Path, files[out[i].Path].Text) {
			add(Use{Path: r.Path, Argument: r.Argument, By: fmt.Sprintf("%q at %s", out[i].Path, r.At), From: out[i].Path})
		}
	}
	return out
}

package outline

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// maxNamespaces is how many namespaces with lost pods are named.
const maxNamespaces = 5

// Losses returns in words what ends with a destroyed cluster, a sentence for each kind.
func Losses(l *planner.Loss) []string {
	if l == nil {
		return nil
	}
	if l.Unobserved {
		return []string{"its API does not answer: which pods and volumes end is not known"}
	}
	var out []string
	if n, where := lostByNamespace(l.Pods); n > 0 {
		out = append(out, "ends "+ui.Plural(n, "pod")+" with a controller: "+where)
	}
	if n := l.Alone.Count; n > 0 {
		out = append(out, "ends "+ui.Plural(n, "pod")+" without a controller: "+named(l.Alone))
	}
	if n := l.EmptyDirs; n > 0 {
		out = append(out, "deletes the emptyDir volumes of "+ui.Plural(n, "pod"))
	}
	if n := l.Volumes.Count; n > 0 {
		out = append(out, "ends "+ui.Plural(n, "PersistentVolume")+" on disks of the hosts, whose files stay there unless they are below /var/lib/kubelet: "+named(l.Volumes))
	}
	return out
}

// lostByNamespace returns the number of lost pods, and how many of them are in which namespace: the
// largest first.
func lostByNamespace(pods map[string]int) (all int, where string) {
	names := slices.SortedFunc(maps.Keys(pods), func(a, b string) int {
		return cmp.Or(cmp.Compare(pods[b], pods[a]), strings.Compare(a, b))
	})
	var parts []string
	rest := 0
	for i, name := range names {
		all += pods[name]
		if i >= maxNamespaces && len(names) > maxNamespaces+1 {
			rest += pods[name]
			continue
		}
		parts = append(parts, strconv.Itoa(pods[name])+" in "+ui.Clean(name))
	}
	if rest > 0 {
		parts = append(parts, strconv.Itoa(rest)+" in "+ui.Plural(len(names)-maxNamespaces, "other namespace"))
	}
	return all, strings.Join(parts, ", ")
}

// named returns the names that are kept, and the number of the others.
func named(n state.Named) string {
	names := ui.Cleaned(n.First)
	if more := n.Count - len(names); more > 0 {
		names = append(names, strconv.Itoa(more)+" more")
	}
	return strings.Join(names, ", ")
}

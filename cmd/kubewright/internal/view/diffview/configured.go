package diffview

import (
	"slices"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// WithSettings adds to the line of a new item what the configuration sets of its component, so that
// a new cluster shows its settings without all defaults of kubeadm. A value with the names or
// addresses of its node, which own replaces, says no more than the node's block.
func (p Printer) WithSettings(e Entry, own func(string) string) Entry {
	if e.Of == nil || p.Full || !hasSettings(*e.Of) {
		return e
	}
	var set []planner.AttributeChange
	for _, a := range e.Of.Attributes {
		for _, s := range configuredParts(a) {
			if isSetting(*e.Of, s) {
				set = append(set, foreign(s, own)...)
			}
		}
	}
	if len(set) == 0 {
		return e
	}
	e.Block, e.Kids = true, p.Entries(Grow(set), ui.Added)
	return e
}

// hasSettings reports whether an item is what a component reads its settings from.
func hasSettings(c planner.Change) bool {
	switch c.Kind {
	case state.KindStaticPod, state.KindYAMLFile, state.KindEnvFile, state.KindCertificate:
		return true
	case state.KindUser, state.KindDirectory:
		// What a control sets is in no block of its own.
		return slices.ContainsFunc(c.Attributes, func(a planner.AttributeChange) bool { return a.Origin.Control != "" })
	case state.KindObject:
		return strings.HasSuffix(c.Address.ID(), "ConfigMap/kube-system/kube-proxy")
	}
	return false
}

// isSetting reports whether an attribute is a setting of its component. The image of a static pod
// is in its line, and its annotations and probes repeat arguments; kube-proxy has a kubeconfig
// beside its configuration. Of a certificate only its names are settings.
func isSetting(c planner.Change, a planner.AttributeChange) bool {
	path := state.SplitPath(a.Path)
	switch c.Kind {
	case state.KindStaticPod:
		return slices.Contains([]string{"args", "env", "volumes"}, path[0])
	case state.KindObject:
		return slices.Contains(path, "config.conf")
	}
	return c.Kind != state.KindCertificate || path[0] == "dns_names" || path[0] == "ip_addresses"
}

// foreign returns an attribute without what has names or addresses of its node.
func foreign(a planner.AttributeChange, own func(string) string) []planner.AttributeChange {
	list := a.After.AsList()
	if !ui.IsList(a.After) || len(a.Origins) == 0 {
		if text := ui.Inline(a.After); own(text) != text {
			return nil
		}
		return []planner.AttributeChange{a}
	}
	list = slices.DeleteFunc(slices.Clone(list), func(v state.Value) bool {
		return a.Origins[state.JoinPath("", state.ElementKey(v))].File == "" || own(v.AsString()) != v.AsString()
	})
	if len(list) == 0 {
		return nil
	}
	a.After = state.List(list...)
	return []planner.AttributeChange{a}
}

// configuredParts returns an attribute if the configuration sets it, or those of its parts that it
// sets.
func configuredParts(a planner.AttributeChange) []planner.AttributeChange {
	parts := map[string]state.Value{}
	var order []string
	add := func(path string, v state.Value) { parts[path], order = v, append(order, path) }
	switch {
	case len(a.Origins) == 0 && a.Origin.File == "":
		return nil
	case len(a.Origins) == 0 || ui.IsList(a.After) && a.After.Kind() != state.KindArgs:
		return []planner.AttributeChange{a}
	case a.After.Kind() == state.KindMap:
		for _, path := range a.After.Leaves() {
			add(path, a.After.Get(path))
		}
	default:
		for _, arg := range a.After.AsArgs() {
			add(state.JoinPath("", arg.Name), arg.Of())
		}
	}
	var out []planner.AttributeChange
	for _, path := range order {
		origin := a.Origins[path]
		if origin.File == "" {
			continue
		}
		whole := a.Path
		for _, key := range state.SplitPath(path) {
			whole = state.JoinPath(whole, key)
		}
		out = append(out, planner.AttributeChange{Path: whole, After: parts[path], Origin: origin})
	}
	return out
}

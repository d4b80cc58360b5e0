package planview

import (
	"slices"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/diffview"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// acceptance says how to make the configuration agree with a change made outside, if the
// language can express it.
type acceptance struct {
	// write are lines to add to the block.
	write []string
	// remove are the places of lines to remove.
	remove []string
	// ignore are entries of ignore_changes for changes that cannot be accepted in any other
	// way.
	ignore []string
	// followUp is what the next apply still does after that.
	followUp string
}

// accept prints how to keep a change made outside.
func (p printer) accept(c planner.Change) {
	a, where := acceptanceOf(c), blockOf(c)
	offer := func(sentence string, lines []string) {
		p.Line("    ", ui.Wrap(sentence, p.Width-4, "    "))
		for _, l := range lines {
			p.Line("      ", l)
		}
		p.Line()
	}
	if len(a.write) > 0 {
		offer("To keep it, write into "+where+":", a.write)
	}
	if len(a.remove) > 0 {
		others := ""
		if of := c.Address.Target; of.Type == state.TypeNode && c.Kind != state.KindStaticPod && !c.Shown[planner.SharedSetting].AsBool() {
			others = sharedBlockNote(of)
		}
		offer("To keep it, take out what the configuration says of it"+others+": "+strings.Join(a.remove, ", ")+".", nil)
	}
	if then := a.followUp; then != "" && len(a.write)+len(a.remove) > 0 {
		offer(then, nil)
	}
	if len(a.ignore) > 0 {
		offer("To leave it to others, write into "+where+", or add to what is there:", inBlock("lifecycle", "ignore_changes = ["+strings.Join(a.ignore, ", ")+"]"))
	}
}

// blockOf returns the block of the configuration that a changed item belongs to.
func blockOf(c planner.Change) string {
	t := c.Address.Target
	switch {
	case c.Kind == state.KindStaticPod:
		return "the block of its cluster, for all control planes"
	case t.Type == state.TypeAddon:
		return "the block of " + ui.Clean(state.ClusterTarget(t.Name).String())
	}
	return "the block of " + ui.Clean(t.String()) + sharedBlockNote(t)
}

// sharedBlockNote returns the note that the block of a node is shared with other keys; empty for a
// block of one node.
func sharedBlockNote(t state.Target) string {
	if !t.Keyed {
		return ""
	}
	return ", which is that of its other keys as well (by each.key it can be for this one alone)"
}

// acceptanceOf returns for each attribute whether to write, remove or ignore it. An argument or
// setting that was removed outside and is not configured is rendered again even if it is
// ignored, so that nothing can be offered for it.
func acceptanceOf(c planner.Change) acceptance {
	var out acceptance
	if c.Kind != state.KindFile && slices.ContainsFunc(c.Attributes, func(a planner.AttributeChange) bool { return a.Path == "content" }) {
		return out // values that cannot be parsed
	}
	var written []planner.AttributeChange
	all, whole := c.Shown["taints"]
	for _, a := range c.Attributes {
		path := state.SplitPath(a.Path)
		entry, rendered := ignorable(c, path), c.Kind != state.KindNodeObject && c.Address.Target.Type != state.TypeAddon
		switch {
		case entry == "" || whole && entry == "taints":
		case writable(c, a):
			written = append(written, a)
		case a.After.IsNull() && a.Origin.File != "" && c.Kind != state.KindObject:
			out.remove = appendNew(out.remove, ui.SourceNote(a.Origin))
		case !a.After.IsNull() || !rendered:
			out.ignore = appendNew(out.ignore, entry)
		}
	}
	if entry := ignorable(c, nil); entry != "" && len(c.Attributes) == 0 {
		out.ignore = append(out.ignore, entry)
	}
	out.followUp = followUp(c)
	out.write = configurationLines(c, written)
	if whole {
		out.write = append(out.write, "taints = "+taintList(all)+" # all that it says of taints")
	}
	return out
}

// followUp returns what the next apply changes besides the item, once the configuration agrees
// with the change made outside.
func followUp(c planner.Change) string {
	shared := c.Shown[planner.SharedSetting].AsBool()
	switch {
	case c.Kind == state.KindNodeObject && c.Address.Phase == workerMarks && slices.ContainsFunc(c.Attributes, func(a planner.AttributeChange) bool { return state.SplitPath(a.Path)[0] == "taints" }):
		return "The next apply also writes them to its kubelet, which registers the node with its taints, and restarts it. No pod is affected."
	case c.Kind == state.KindStaticPod:
		return "The next apply brings it to all control planes, and writes it into kubeadm-config."
	case shared && c.Kind == state.KindYAMLFile:
		return "That setting applies to all nodes: the next apply takes it from the others, and from kubelet-config."
	case shared:
		return "That setting applies to all nodes: the next apply takes it from the others."
	}
	return ""
}

// workerMarks is the phase of a worker's labels, annotations and taints.
const workerMarks = "mark-worker"

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// argBlocks maps the names of manifests to the blocks of their components.
var argBlocks = map[string]string{
	"kube-apiserver": "api_server", "kube-controller-manager": "controller_manager", "kube-scheduler": "scheduler", "etcd": "etcd",
}

// argBlock returns the block of the component whose manifest an item is.
func argBlock(c planner.Change) string {
	id := c.Address.ID()
	return argBlocks[strings.TrimSuffix(id[strings.LastIndex(id, "/")+1:], ".yaml")]
}

// ofKubeletConfig reports whether an attribute is a field of the kubelet's configuration on a host.
func ofKubeletConfig(c planner.Change, path []string) bool {
	return c.Kind == state.KindYAMLFile && c.Address.ID() == "/var/lib/kubelet/config.yaml" && len(path) > 0 && path[0] != "mode" && path[0] != "owner"
}

// writable reports whether the language can express the present value of an attribute.
func writable(c planner.Change, a planner.AttributeChange) bool {
	path := state.SplitPath(a.Path)
	if a.After.IsNull() || a.After.HasSensitive() {
		return false
	}
	switch arg := len(path) == 2 && path[0] == "args" && a.After.Kind() == state.KindString; c.Kind {
	case state.KindNodeObject:
		return len(path) == 2 || a.Path == "schedulable"
	case state.KindStaticPod:
		return arg && argBlock(c) != ""
	case state.KindEnvFile:
		return arg
	}
	return ofKubeletConfig(c, path)
}

// configurationLines returns writable attributes of an item as its block has them.
func configurationLines(c planner.Change, written []planner.AttributeChange) []string {
	if len(written) == 0 {
		return nil
	}
	now := diffview.Values(planner.Change{Attributes: written})
	if c.Kind == state.KindYAMLFile {
		return inBlock("kubelet", "config = "+ui.Inline(now))
	}
	if c.Kind == state.KindNodeObject {
		return nodeLines(now, written)
	}
	block := "kubelet"
	if c.Kind == state.KindStaticPod {
		block = argBlock(c)
	}
	var args []string
	for _, a := range written {
		args = append(args, "arg "+ui.Quote(state.SplitPath(a.Path)[1])+" { value = "+ui.Inline(a.After)+" }")
	}
	return inBlock(block, args...)
}

// nodeLines returns what is configured of a Node as lines; a taint replaces the block that
// configures it differently.
func nodeLines(now state.Value, written []planner.AttributeChange) []string {
	var out []string
	for _, name := range []string{"labels", "annotations"} {
		if m := now.Get(name); !m.IsNull() {
			out = append(out, name+" = "+ui.Inline(m))
		}
	}
	if v := now.Get("schedulable"); !v.IsNull() {
		out = append(out, "schedulable = "+ui.Inline(v))
	}
	for _, a := range written {
		path := state.SplitPath(a.Path)
		if path[0] != "taints" {
			continue
		}
		name, effect, _ := strings.Cut(path[1], ":")
		block := inBlock("taint "+ui.Quote(name), "value  = "+ui.Inline(a.After), "effect = "+ui.Quote(effect))
		if place := ui.SourceNote(a.Origin); place != "" {
			block[0] += " # in the place of that at " + place
		}
		out = append(out, block...)
	}
	return out
}

// taintList returns taints in the syntax of the attribute taints.
func taintList(all state.Value) string {
	var list []string
	for _, k := range all.Keys() {
		name, effect, _ := strings.Cut(k, ":")
		value := ""
		if v := all.AsMap()[k]; v.AsString() != "" {
			value = "value = " + ui.Inline(v) + ", "
		}
		list = append(list, "{ key = "+ui.Quote(name)+", "+value+"effect = "+ui.Quote(effect)+" }")
	}
	return "[" + strings.Join(list, ", ") + "]"
}

// ignorable returns the entry of ignore_changes that covers an attribute; empty for one that
// cannot be ignored.
func ignorable(c planner.Change, path []string) string {
	t, named := c.Address.Target, func(of, name string) string { return of + "[" + ui.Quote(name) + "]" }
	switch {
	case t.Type == state.TypeAddon:
		return named("addon", t.Key)
	case c.Action == planner.Delete:
		return ""
	case c.Kind == state.KindNodeObject && len(path) == 2 && path[0] == "taints":
		return "taints"
	case c.Kind == state.KindNodeObject && len(path) == 2:
		return named(path[0], path[1])
	case c.Kind == state.KindNodeObject && len(path) == 1 && path[0] == "schedulable":
		return path[0]
	case c.Kind == state.KindStaticPod && len(path) == 2 && path[0] == "args" && argBlock(c) != "":
		return named(argBlock(c)+".arg", path[1])
	case c.Kind == state.KindEnvFile && len(path) == 2 && path[0] == "args":
		return named("kubelet.arg", path[1])
	case ofKubeletConfig(c, path):
		return pathBelow("kubelet.config", path)
	case c.Kind != state.KindObject || len(path) < 3 || path[0] != "data":
		return ""
	}
	switch id := c.Address.ID() + " " + path[1]; id {
	case "v1/ConfigMap/kube-system/kubelet-config kubelet":
		return pathBelow("kubelet.config", path[2:])
	case "v1/ConfigMap/kube-system/kube-proxy config.conf":
		return pathBelow("kube_proxy.config", path[2:])
	}
	return ""
}

// pathBelow returns a path in the syntax of ignore_changes.
func pathBelow(of string, path []string) string {
	for _, k := range path {
		if word := ui.Key(k); strings.HasPrefix(word, `"`) {
			of += "[" + word + "]"
		} else {
			of += "." + word
		}
	}
	return of
}

// inBlock returns lines as the content of a block.
func inBlock(block string, lines ...string) []string {
	out := []string{block + " {"}
	for _, l := range lines {
		out = append(out, "  "+l)
	}
	return append(out, "}")
}

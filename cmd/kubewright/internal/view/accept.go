package view

import (
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// accept prints what to write into the configuration so that it agrees with
// what somebody has changed outside, where the language can say it.
func (p *page) accept(c planner.Change) {
	where := "the block of " + Clean(c.Address.Target.String())
	if c.Address.Target.Keyed {
		where += ", which is that of its other keys as well (by each.key it can be for this one alone)"
	}
	if c.Kind == state.KindStaticPod {
		where = "the block of its cluster, for all control planes"
	}
	var lines []string
	for _, a := range c.Attributes {
		lines = append(lines, acceptable(c, a)...)
	}
	if len(lines) == 0 || c.Action == planner.Delete {
		return
	}
	p.line("    ", wrap("To keep it, write into "+where+":", p.width-4, "    "))
	for _, l := range lines {
		p.line("      ", l)
	}
	p.line()
}

// argBlocks are the blocks of the components whose manifests lie under these names.
var argBlocks = map[string]string{
	"kube-apiserver": "api_server", "kube-controller-manager": "controller_manager", "kube-scheduler": "scheduler", "etcd": "etcd",
}

// acceptable is one changed attribute as the language writes it; none for what
// it has no word for, and for what was taken away.
func acceptable(c planner.Change, a planner.AttributeChange) []string {
	path, id := state.SplitPath(a.Path), c.Address.ID()
	if a.After.IsNull() || a.After.Kind() == state.KindSensitive || len(path) == 0 {
		return nil
	}
	value, plain := inline(a.After), a.After.Kind() == state.KindString
	arg := len(path) == 2 && path[0] == "args" && plain
	switch {
	case c.Kind == state.KindNodeObject && len(path) == 2 && path[0] == "taints":
		name, effect, _ := strings.Cut(path[1], ":")
		return within("taint "+quote(name), "value  = "+value, "effect = "+quote(effect))
	case c.Kind == state.KindNodeObject && len(path) == 2:
		return []string{path[0] + " = { " + quote(path[1]) + " = " + value + " }"}
	case c.Kind == state.KindStaticPod && arg:
		component := strings.TrimSuffix(id[strings.LastIndex(id, "/")+1:], ".yaml")
		return within(argBlocks[component], "arg "+quote(path[1])+" { value = "+value+" }")
	case c.Kind == state.KindEnvFile && arg:
		return within("kubelet", "arg "+quote(path[1])+" { value = "+value+" }")
	case c.Kind == state.KindYAMLFile && id == "/var/lib/kubelet/config.yaml" && path[0] != "mode" && path[0] != "owner":
		for i := len(path) - 1; i >= 0; i-- {
			value = "{ " + key(path[i]) + " = " + value + " }"
		}
		return within("kubelet", "config = "+value)
	}
	return nil
}

// within puts lines into a block; none without one.
func within(block string, lines ...string) []string {
	if block == "" {
		return nil
	}
	out := []string{block + " {"}
	for _, l := range lines {
		out = append(out, "  "+l)
	}
	return append(out, "}")
}

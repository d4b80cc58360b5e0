package phases

import (
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// ignore puts in place of values that a node's lifecycle, or its
// cluster's, ignores what is on its host: what is rendered of them equals what
// is there, whatever else of the same file changes.
func (n *node) ignore() {
	own, shared := n.Lifecycle, n.cluster.Lifecycle
	if n.report == nil || n.cluster.view.replaces(n.target) || !n.cluster.view.recordedNode(n.target) || len(own.IgnoreChanges)+len(shared.IgnoreChanges) == 0 {
		return
	}
	copied, settings := *n.Node, *n.cluster.Cluster
	n.Node, n.settings = &copied, &settings
	n.ignoreKubelet(append(own.Below("kubelet", "config"), shared.Below("kubelet", "config")...))
	flags := own.Below("kubelet", "arg")
	if !n.isControlPlane() && own.Ignores("taints") {
		// They are a flag of its kubelet as well.
		flags, n.Taints = append(flags, []string{"register-with-taints"}), nil
	}
	n.Kubelet.Args = ignoreArgs(n.Kubelet.Args, n.seen(state.KindEnvFile, kubeletFlags), flags)
	n.ignored = n.ignoredArgs(componentArgs(&settings))
}

// ignoredArgs are the arguments of static pods that are ignored. They are not put into the
// settings: a patch may speak of where an argument stands, and of the value that it has.
func (n *node) ignoredArgs(components []component) *kubeadm.Kept {
	out := kubeadm.Kept{}
	for _, c := range components {
		names := n.cluster.Lifecycle.Below(c.block, "arg")
		if len(names) == 0 {
			continue
		}
		seen, err := kubeadm.StaticPodAttributes(n.report.Files[manifest(c.component)].Content)
		if err != nil {
			continue
		}
		there, values := groupArgs(seen.Get("args").AsArgs()), map[string][]string{}
		for _, name := range names {
			configured := slices.ContainsFunc(*c.args, func(a config.Arg) bool { return a.Name == name[0] })
			// One of kubeadm's own that is not there is rendered all the same.
			if there[name[0]] != nil || configured {
				values[name[0]] = there[name[0]]
			}
		}
		out[c.component] = values
	}
	if len(out) == 0 {
		return nil
	}
	return &out
}

// groupArgs are the values of arguments by name.
func groupArgs(args []state.Arg) map[string][]string {
	out := map[string][]string{}
	for _, a := range args {
		out[a.Name] = append(out[a.Name], a.Value)
	}
	return out
}

// seen is a file of the host as it is compared; null when it cannot be read.
func (n *node) seen(kind state.Kind, path string) state.Value {
	f := n.report.Files[path]
	if !f.Exists {
		return state.Null()
	}
	tree, err := n.cluster.view.memo.tree(kind, f.Content)
	if err != nil {
		return state.Null()
	}
	return tree
}

func (n *node) ignoreKubelet(paths [][]string) {
	seen := n.seen(state.KindYAMLFile, kubeletConfig)
	if seen.IsNull() {
		return
	}
	n.Kubelet.Config = ignoreTree(withoutPaths(n.Kubelet.Config, paths), seen, paths)
	n.settings.Kubelet.Config = withoutPaths(n.settings.Kubelet.Config, paths)
}

// component is where the arguments of a static pod stand in the model.
type component struct {
	block, component, field string
	args                    *[]config.Arg
}

func componentArgs(c *config.Cluster) []component {
	return []component{
		{"api_server", "kube-apiserver", "apiServer", &c.APIServer.Component.Args},
		{"controller_manager", "kube-controller-manager", "controllerManager", &c.ControllerManager.Args},
		{"scheduler", "kube-scheduler", "scheduler", &c.Scheduler.Args},
		{"etcd", "etcd", "etcd.local", &c.Etcd.Args},
	}
}

// ignoreArgs takes the named arguments from what is there: as often, and with
// the values, that it has. Those that are wanted keep their places.
func ignoreArgs(wanted []config.Arg, seen state.Value, names [][]string) []config.Arg {
	if seen.IsNull() {
		return wanted
	}
	there := groupArgs(seen.Get("args").AsArgs())
	for _, name := range names {
		values := there[name[0]]
		var out []config.Arg
		for _, a := range wanted {
			switch {
			case a.Name != name[0]:
				out = append(out, a)
			case len(values) > 0:
				out, values = append(out, config.Arg{Name: a.Name, Value: values[0]}), values[1:]
			}
		}
		for _, value := range values {
			out = append(out, config.Arg{Name: name[0], Value: value})
		}
		wanted = out
	}
	return wanted
}

// ignoreTree takes what lies at the paths from what is there.
func ignoreTree(wanted, seen state.Value, paths [][]string) state.Value {
	for _, path := range paths {
		if len(path) > 0 {
			wanted = replaced(wanted, path, at(seen, path))
			continue
		}
		for _, key := range seen.Keys() {
			if key != "apiVersion" && key != "kind" {
				wanted = replaced(wanted, []string{key}, seen.AsMap()[key])
			}
		}
	}
	return wanted
}

func withoutPaths(v state.Value, paths [][]string) state.Value {
	for _, path := range paths {
		if len(path) == 0 {
			return state.Null()
		}
		v = replaced(v, path, state.Null())
	}
	return v
}

func at(v state.Value, path []string) state.Value {
	for _, key := range path {
		v = v.AsMap()[key]
	}
	return v
}

// replaced is the tree with another value at the path; null takes the key away.
func replaced(v state.Value, path []string, by state.Value) state.Value {
	m := map[string]state.Value{}
	for key, e := range v.AsMap() {
		m[key] = e
	}
	if len(path) > 1 {
		by = replaced(m[path[0]], path[1:], by)
	}
	if m[path[0]] = by; by.IsNull() {
		delete(m, path[0])
	}
	if len(m) == 0 {
		return state.Null()
	}
	return state.Map(m)
}

// ignore does for what is kept in the cluster what node.ignore does for hosts.
func (c *cluster) ignore() {
	planes := c.controlPlanes()
	if c.report == nil || len(planes) == 0 || len(c.Lifecycle.IgnoreChanges) == 0 || c.recordedCA() == "" {
		return
	}
	kubelets, proxies := c.Lifecycle.Below("kubelet", "config"), c.Lifecycle.Below("kube_proxy", "config")
	copied := *c.Cluster
	copied.Kubelet.Config = withoutPaths(copied.Kubelet.Config, kubelets)
	copied.KubeProxy.Config = withoutPaths(copied.KubeProxy.Config, proxies)
	in := planes[0].input()
	in.Cluster = &copied
	wanted := map[state.ObjectRef]state.Value{}
	for _, o := range kubeadm.Objects(in) {
		wanted[o.Ref] = o.Object
	}
	for _, d := range []struct {
		name, key string
		tree      *state.Value
		paths     [][]string
	}{
		{"kubelet-config", "kubelet", &copied.Kubelet.Config, kubelets},
		{"kube-proxy", "config.conf", &copied.KubeProxy.Config, proxies},
	} {
		ref := systemConfig(d.name)
		seen, rendered := documentOf(c.report.Objects[ref], d.key), documentOf(wanted[ref], d.key)
		if !seen.IsNull() {
			*d.tree = ignoreTree(*d.tree, seen, differing(rendered, seen, d.paths))
		}
	}
	stored := documentOf(c.report.Objects[systemConfig("kubeadm-config")], "ClusterConfiguration")
	for _, p := range componentArgs(&copied) {
		if stored.IsNull() {
			break
		}
		var args []state.Arg
		for _, a := range stored.Get(p.field + ".extraArgs").AsList() {
			args = append(args, state.Arg{Name: a.Get("name").AsString(), Value: a.Get("value").AsString()})
		}
		*p.args = ignoreArgs(*p.args, attributes("args", state.Args(args)), c.Lifecycle.Below(p.block, "arg"))
	}
	c.shared = &copied
}

func systemConfig(name string) state.ObjectRef {
	return state.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "kube-system", Name: name}
}

// documentOf is a document inside a ConfigMap; null when it is not there.
func documentOf(object state.Value, key string) state.Value {
	return document(object.Get("data").AsMap()[key])
}

// differing are the paths where what is there is not what is rendered without a
// word of the configuration: what nobody sets is marked as a default in the cluster.
func differing(rendered, seen state.Value, paths [][]string) [][]string {
	var out [][]string
	for _, path := range paths {
		if len(path) > 0 {
			out = append(out, path)
			continue
		}
		for _, key := range seen.Keys() {
			out = append(out, []string{key})
		}
	}
	return slices.DeleteFunc(out, func(path []string) bool { return at(rendered, path).Equal(at(seen, path)) })
}

// unignored drops what a lifecycle ignores and no file is rendered of: labels,
// annotations and taints of nodes, and whole addons. An addon whose block is gone is
// pruned: that is no change of a value.
func (v *View) unignored(changes []planner.Change) []planner.Change {
	var out []planner.Change
	for _, c := range changes {
		t := c.Address.Target
		if cl := v.Config.Cluster(t.Name); t.Type == state.TypeAddon && cl != nil && v.owns(t) && hasAddon(cl, t.Key) && cl.Lifecycle.Ignores("addon", t.Key) {
			continue
		}
		n := v.find(t)
		if c.Kind == state.KindNodeObject && c.Action == planner.Update && n != nil && v.recordedNode(t) {
			c.Attributes = slices.DeleteFunc(slices.Clone(c.Attributes), func(a planner.AttributeChange) bool {
				return n.Lifecycle.Ignores(state.SplitPath(a.Path)...)
			})
			if len(c.Attributes) == 0 {
				continue
			}
		}
		out = append(out, c)
	}
	return out
}

func hasAddon(c *config.Cluster, name string) bool {
	return slices.ContainsFunc(c.Addons, func(a *config.Addon) bool { return a.Name == name })
}

// onceSet is an item as the state remembers it where a lifecycle leaves some of it to
// others: what is there as it is wanted, or else what was set before. What the
// configuration says of it by now was never set, and nobody took it away.
func (v *View) onceSet(it state.Item, was, have *state.Item) state.Item {
	n := v.find(it.Address.Target)
	if it.Kind != state.KindNodeObject || n == nil {
		return it
	}
	before := state.Null()
	if was != nil {
		before = was.Attributes
	}
	for _, path := range it.Attributes.Leaves() {
		keys := state.SplitPath(path)
		if n.Lifecycle.Ignores(keys...) && !it.Attributes.Get(path).Equal(have.Attributes.Get(path)) {
			it.Attributes = replaced(it.Attributes, keys, at(before, keys))
		}
	}
	return it
}

// ignoredDrift drops the drift that the configuration accepts: what is wanted
// there is, by ignore_changes, what is there.
func (v *View) ignoredDrift(drift []planner.Change, desired, observed *state.Snapshot) []planner.Change {
	var out []planner.Change
	for _, c := range v.unignored(drift) {
		want, have := desired.Find(c.Address), observed.Find(c.Address)
		if want != nil && have != nil && v.ignoresAny(c.Address.Target) {
			c.Attributes = slices.DeleteFunc(slices.Clone(c.Attributes), func(a planner.AttributeChange) bool {
				return want.Attributes.Get(a.Path).Equal(have.Attributes.Get(a.Path))
			})
			if len(c.Attributes) == 0 {
				continue
			}
		}
		out = append(out, c)
	}
	return out
}

// ignoresAny tells that a target has anything in ignore_changes, or its cluster has.
func (v *View) ignoresAny(t state.Target) bool {
	c := v.clusterOf(t)
	if c == nil {
		return false
	}
	n := c.node(t)
	return len(c.Lifecycle.IgnoreChanges) > 0 || n != nil && len(n.Lifecycle.IgnoreChanges) > 0
}

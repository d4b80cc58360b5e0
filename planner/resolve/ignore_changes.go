package resolve

import (
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/provenance"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// nodeIgnore returns the node with the values on its host for those that the lifecycle of the node or
// its cluster ignores: rendering then reproduces the observed values, whatever else changes in the
// same file.
func nodeIgnore(n *topology.Node) *topology.Node {
	own, shared := n.Lifecycle, n.Cluster.Lifecycle
	if n.Report == nil || n.Cluster.Fleet.Replaces(n.Target) || !n.Cluster.Fleet.RecordedNode(n.Target) || len(own.IgnoreChanges)+len(shared.IgnoreChanges) == 0 {
		return n
	}
	copied, settings := *n.Node, *n.Cluster.Cluster
	if seen := n.Seen(state.KindYAMLFile, topology.KubeletConfig); !seen.IsNull() {
		paths := append(own.Below("kubelet", "config"), shared.Below("kubelet", "config")...)
		copied.Kubelet.Config = ignoreTree(withoutPaths(copied.Kubelet.Config, paths), seen, paths)
		settings.Kubelet.Config = withoutPaths(settings.Kubelet.Config, paths)
	}
	flags := own.Below("kubelet", "arg")
	if !n.IsControlPlane() && own.Ignores("taints") {
		// They are also a flag of its kubelet.
		flags, copied.Taints = append(flags, []string{"register-with-taints"}), nil
	}
	copied.Kubelet.Args = ignoreArgs(copied.Kubelet.Args, n.Seen(state.KindEnvFile, topology.KubeletFlags), flags)
	return n.WithSettings(&copied, &settings, ignoredArgs(n, ComponentArgs(&settings)))
}

// ignoredArgs returns the ignored arguments of static pods. They do not become settings: a patch
// may refer to the index of an argument, and to its configured value.
func ignoredArgs(n *topology.Node, components []Component) *kubeadm.Kept {
	out := kubeadm.Kept{}
	for _, c := range components {
		names := n.Cluster.Lifecycle.Below(c.Block, "arg")
		if len(names) == 0 {
			continue
		}
		seen, err := kubeadm.StaticPodAttributes(n.Report.Files[topology.Manifest(c.Component)].Content)
		if err != nil {
			continue
		}
		there, values := groupArgs(seen.Get("args").AsArgs()), map[string][]string{}
		for _, name := range names {
			configured := slices.ContainsFunc(*c.Args, func(a config.Arg) bool { return a.Name == name[0] })
			// A missing argument of kubeadm's own is rendered anyway.
			if there[name[0]] != nil || configured {
				values[name[0]] = there[name[0]]
			}
		}
		out[c.Component] = values
	}
	if len(out) == 0 {
		return nil
	}
	return &out
}

// groupArgs returns the values of arguments by name.
func groupArgs(args []state.Arg) map[string][]string {
	out := map[string][]string{}
	for _, a := range args {
		out[a.Name] = append(out[a.Name], a.Value)
	}
	return out
}

// Component locates the arguments of a static pod in the model.
type Component struct {
	Block, Component, field string
	Args                    *[]config.Arg
}

// ComponentArgs returns the location of the arguments of each static pod.
func ComponentArgs(c *config.Cluster) []Component {
	return []Component{
		{"api_server", "kube-apiserver", "apiServer", &c.APIServer.Component.Args},
		{"controller_manager", "kube-controller-manager", "controllerManager", &c.ControllerManager.Args},
		{"scheduler", "kube-scheduler", "scheduler", &c.Scheduler.Args},
		{"etcd", "etcd", "etcd.local", &c.Etcd.Args},
	}
}

// ignoreArgs takes the named arguments from the observed ones: with the same number and values.
// Arguments that are also desired keep their places.
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

// ignoreTree takes the values at the paths from the observed tree.
func ignoreTree(wanted, seen state.Value, paths [][]string) state.Value {
	for _, path := range paths {
		if len(path) > 0 {
			wanted = topology.ReplaceAt(wanted, path, topology.ValueAt(seen, path))
			continue
		}
		for _, key := range seen.Keys() {
			if key != "apiVersion" && key != "kind" {
				wanted = topology.ReplaceAt(wanted, []string{key}, seen.AsMap()[key])
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
		v = topology.ReplaceAt(v, path, state.Null())
	}
	return v
}

// clusterIgnore does the same as nodeIgnore for the configuration that is stored in the cluster.
func clusterIgnore(c *topology.Cluster) *config.Cluster {
	planes := c.ControlPlanes()
	if c.Report == nil || len(planes) == 0 || len(c.Lifecycle.IgnoreChanges) == 0 || c.RecordedCA() == "" {
		return c.Cluster
	}
	kubelets, proxies := c.Lifecycle.Below("kubelet", "config"), c.Lifecycle.Below("kube_proxy", "config")
	copied := *c.Cluster
	copied.Kubelet.Config = withoutPaths(copied.Kubelet.Config, kubelets)
	copied.KubeProxy.Config = withoutPaths(copied.KubeProxy.Config, proxies)
	in := planes[0].Input()
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
		ref := provenance.SystemConfigMap(d.name)
		seen, rendered := provenance.DocumentIn(c.Report.Objects[ref], d.key), provenance.DocumentIn(wanted[ref], d.key)
		if !seen.IsNull() {
			*d.tree = ignoreTree(*d.tree, seen, differing(rendered, seen, d.paths))
		}
	}
	stored := provenance.DocumentIn(c.Report.Objects[provenance.SystemConfigMap("kubeadm-config")], "ClusterConfiguration")
	for _, p := range ComponentArgs(&copied) {
		if stored.IsNull() {
			break
		}
		var args []state.Arg
		for _, a := range stored.Get(p.field + ".extraArgs").AsList() {
			args = append(args, state.Arg{Name: a.Get("name").AsString(), Value: a.Get("value").AsString()})
		}
		*p.Args = ignoreArgs(*p.Args, topology.Attributes("args", state.Args(args)), c.Lifecycle.Below(p.Block, "arg"))
	}
	return &copied
}

// differing returns the paths where the observed value differs from the one rendered without
// configuration: values that no setting sets are marked as defaults in the cluster.
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
	return slices.DeleteFunc(out, func(path []string) bool { return topology.ValueAt(rendered, path).Equal(topology.ValueAt(seen, path)) })
}

package observation

import (
	"maps"
	"slices"

	"github.com/kubewright/kubewright/providers/sim/machine"
	"github.com/kubewright/kubewright/providers/sim/store"
	"github.com/kubewright/kubewright/state"
)

// Contents returns what is on a machine, and the Node object of its kubelet, for the conditions of
// tests. Keys, certificates and opaque files have no content.
func (ob Observation) Contents() state.Value {
	files, units, sysctls := map[string]state.Value{}, map[string]state.Value{}, map[string]state.Value{}
	for _, p := range ob.m.Tree("/") {
		f := ob.m.File(p)
		if !f.IsRegular() {
			continue
		}
		content := state.Null()
		if f.Record == nil {
			content = state.String(string(ob.servers.Content(f)))
		}
		files[p] = state.Map(map[string]state.Value{"content": content, "mode": state.String(f.EffectiveMode()), "owner": state.String(f.EffectiveOwner())})
	}
	for _, name := range ob.m.Systemd().UnitNames() {
		if r := ob.unitReport(name); r.Exists {
			units[machine.UnitFile(name)] = state.Map(map[string]state.Value{"active": state.String(r.Active), "enabled": state.String(r.Enabled)})
		}
	}
	names := maps.Clone(ob.m.Baseline().Sysctls)
	maps.Copy(names, ob.m.Sysctls)
	for name := range names {
		if v, ok := ob.m.Kernel().Sysctl(name); ok {
			sysctls[name] = state.String(v)
		}
	}
	return state.Map(map[string]state.Value{
		"on": state.Bool(!ob.m.Off), "files": state.Map(files), "units": state.Map(units), "sysctls": state.Map(sysctls),
		"images": state.Strings(ob.m.ImageStore().List()...), "pods": state.Strings(slices.Sorted(slices.Values(slices.Concat(slices.Collect(maps.Keys(ob.m.Pods)), ob.m.Daemons)))...),
		"versions": state.Map(map[string]state.Value{"kubelet": state.String(ob.m.Version("kubelet")), "containerd": state.String(ob.m.Version("containerd"))}),
		"node":     ob.node(),
	})
}

// node returns the Node object of the machine's kubelet; null without one.
func (ob Observation) node() state.Value {
	for _, c := range ob.servers.Clusters.ByID {
		for name, n := range c.Nodes {
			if n.Host == ob.m.Address {
				return state.Map(map[string]state.Value{
					"name": state.String(name), "labels": state.FromGo(n.Labels), "annotations": state.FromGo(n.Annotations),
					"ready": state.Bool(ob.servers.NodeReady(n)), "unschedulable": state.Bool(n.Unschedulable), "taints": taints(n),
				})
			}
		}
	}
	return state.Null()
}

// taints returns the taints of a Node, as kubectl writes them.
func taints(n *store.Node) state.Value {
	out := make([]string, len(n.Taints))
	for i, t := range n.Taints {
		out[i] = t.String()
	}
	return state.Strings(out...)
}

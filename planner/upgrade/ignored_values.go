package upgrade

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/resolve"
	"github.com/kubewright/kubewright/planner/skew"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Values that ignore_changes leaves to others are rendered as observed, even in another version.
// Validation has only checked the configured values.

// ignoredUse is a use of values that ignore_changes keeps, going from one version to others.
type ignoredUse struct {
	// where is the target with the values; for kubelets each finding has it.
	where string
	from  skew.Release
	to    []skew.Release
	// nodes are the nodes whose kubelets use the values, if kubelets do.
	nodes []*topology.Node
	// entries are the entries of ignore_changes that may keep a value there.
	entries []config.Ignored
	// keep writes the kept values into a configuration, with the entries as their sources.
	keep func(*config.Config)
}

// UnfitIgnored refuses values that ignore_changes keeps and with which a coming version would not
// start, such as a removed feature gate. Values with which a component already runs do not matter,
// even if the configuration could not have them.
func UnfitIgnored(c *topology.Cluster) diag.Diagnostics {
	if c.Up == nil || c.Fleet.Destroy {
		return nil
	}
	type misfit struct{ detail, file, entry, from, to string }
	var order []misfit
	at, where := map[misfit]state.Source{}, map[misfit][]string{}
	for _, u := range slices.Concat(ignoredOfControlPlanes(c), ignoredOfKubelets(c), ignoredOfProxies(c)) {
		said := map[string]bool{}
		for _, to := range u.to {
			newly := clusterNewly(c, u, to)
			for _, d := range newly {
				i := slices.IndexFunc(u.entries, func(i config.Ignored) bool { return i.String() == d.Subject.Default })
				if i < 0 || said[d.Subject.Default] {
					continue // not about a kept value, or already refused for an earlier version
				}
				m := misfit{d.Detail, keptIn(u.entries[i]), d.Subject.Default, u.from.String(), to.String()}
				if where[m] == nil {
					order, at[m] = append(order, m), cmp.Or(u.entries[i].Source, c.Source)
				}
				where[m] = append(where[m], cmp.Or(u.where, d.Address))
			}
			for _, d := range newly {
				said[d.Subject.Default] = true
			}
		}
	}
	var diags diag.Diagnostics
	for _, m := range order {
		diags = append(diags, diag.Errorf("Ignored value does not fit the version", "%s It is in %s of %s, where ignore_changes keeps it (%s), "+
			"and the version changes from %s to %s. Remove it there by hand, or remove that entry from ignore_changes: the value of the configuration is then written there.",
			m.detail, m.file, strings.Join(where[m], ", "), m.entry, m.from, m.to).At(at[m]).For(c.Target))
	}
	return diags
}

// keptIn returns the file or object with the values of an ignore_changes entry.
func keptIn(i config.Ignored) string {
	switch {
	case i.Path[0] == "kube_proxy":
		return "the ConfigMap kube-proxy"
	case i.Path[0] == "kubelet" && i.Path[1] == "config":
		return topology.KubeletConfig
	case i.Path[0] == "kubelet":
		return topology.KubeletFlags
	}
	components := resolve.ComponentArgs(&config.Cluster{})
	return topology.Manifest(components[slices.IndexFunc(components, func(p resolve.Component) bool { return p.Block == i.Path[0] })].Component)
}

// clusterNewly returns the errors that kept values cause in a version, without those in the current
// version and those of the configuration alone.
func clusterNewly(c *topology.Cluster, u ignoredUse, to skew.Release) diag.Diagnostics {
	kept := func(version skew.Release) *config.Config {
		cfg := goingThrough(c, version, u.nodes...)
		u.keep(cfg)
		return cfg
	}
	return unfitted(kept(to), goingThrough(c, to, u.nodes...), kept(u.from))
}

// ignoredOfControlPlanes returns the control planes that keep arguments of their static pods, which
// go through all versions.
func ignoredOfControlPlanes(c *topology.Cluster) []ignoredUse {
	var out []ignoredUse
	for _, n := range c.ControlPlanes() {
		if !c.Up.Raises || n.Ignored == nil || !n.Upgrades() {
			continue
		}
		out = append(out, ignoredUse{
			where: n.Target.String(), from: c.Up.Oldest, to: c.Up.Hops, entries: c.Lifecycle.IgnoreChanges,
			keep: func(cfg *config.Config) { keepArgs(n, cfg.Clusters[0]) },
		})
	}
	return out
}

// keepArgs writes the arguments that the node keeps into a copy of its cluster.
func keepArgs(n *topology.Node, c *config.Cluster) {
	c.Origins = maps.Clone(c.Origins)
	if c.Origins == nil {
		c.Origins = config.Origins{}
	}
	for _, p := range resolve.ComponentArgs(c) {
		kept := (*n.Ignored)[p.Component]
		args := slices.DeleteFunc(slices.Clone(*p.Args), func(a config.Arg) bool { _, ok := kept[a.Name]; return ok })
		for _, name := range slices.Sorted(maps.Keys(kept)) {
			at := state.DefaultSource(config.Ignored{Path: []string{p.Block, "arg", name}}.String())
			c.Origins[fmt.Sprintf("%s.arg[%q]", p.Block, name)] = at
			for _, value := range kept[name] {
				args = append(args, config.Arg{Name: name, Value: value, Source: at})
			}
		}
		*p.Args = args
	}
}

// ignoredOfKubelets returns the kubelets with another version that keep values, grouped by their
// current and new version.
func ignoredOfKubelets(c *topology.Cluster) []ignoredUse {
	type way struct{ from, to skew.Release }
	going := map[way][]*topology.Node{}
	for _, n := range c.Nodes {
		from, known := skew.ParseRelease(n.RunningKubelet())
		to, turns := skew.ParseRelease(pki.NewKubeletVersion(n))
		if known && turns && n.Settings != c.Cluster && len(keptOfKubelet(n)) > 0 {
			going[way{from, to}] = append(going[way{from, to}], n)
		}
	}
	var out []ignoredUse
	for _, w := range slices.SortedFunc(maps.Keys(going), func(a, b way) int { return cmp.Or(a.from.Compare(b.from), a.to.Compare(b.to)) }) {
		nodes := going[w]
		u := ignoredUse{from: w.from, to: []skew.Release{w.to}, nodes: nodes}
		for _, n := range nodes {
			u.entries = append(u.entries, keptOfKubelet(n)...)
		}
		u.keep = func(cfg *config.Config) {
			cfg.Clusters[0].Kubelet = config.Kubelet{}
			for _, n := range nodes {
				i := slices.IndexFunc(cfg.Nodes, func(o *config.Node) bool { return o.Target == n.Target })
				keepKubelet(n, cfg.Nodes[i])
			}
		}
		out = append(out, u)
	}
	return out
}

// keptOfKubelet returns the ignore_changes entries for the node's kubelet, its own first.
func keptOfKubelet(n *topology.Node) []config.Ignored {
	return slices.DeleteFunc(slices.Concat(n.Lifecycle.IgnoreChanges, n.Cluster.Lifecycle.IgnoreChanges), func(i config.Ignored) bool { return i.Path[0] != "kubelet" })
}

// keepKubelet writes the settings from which the node's kubelet is rendered into a copy of the
// node.
func keepKubelet(n *topology.Node, copied *config.Node) {
	copied.Kubelet = config.Kubelet{Config: config.MergeTrees(n.Settings.Kubelet.Config, n.Kubelet.Config), Args: slices.Clone(n.Kubelet.Args)}
	for _, i := range keptOfKubelet(n) {
		if i.Path[1] == "config" {
			copied.Origins = keptAt(copied.Origins, i)
			continue
		}
		for j, a := range copied.Kubelet.Args {
			if a.Name == i.Path[2] {
				copied.Kubelet.Args[j].Source = state.DefaultSource(i.String())
			}
		}
	}
}

// ignoredOfProxies returns kube-proxy if it keeps values; it goes to the last version at once.
func ignoredOfProxies(c *topology.Cluster) []ignoredUse {
	entries := slices.DeleteFunc(slices.Clone(c.Lifecycle.IgnoreChanges), func(i config.Ignored) bool { return i.Path[0] != "kube_proxy" })
	if !c.Up.Raises || len(entries) == 0 || c.Shared == c.Cluster || c.KubeProxy.Disabled || c.Skips(topology.KubeProxyPart) {
		return nil
	}
	return []ignoredUse{{
		where: c.Target.String(), from: c.Up.Oldest, to: []skew.Release{c.Up.Want}, entries: entries,
		keep: func(cfg *config.Config) {
			cfg.Clusters[0].KubeProxy.Config = c.Shared.KubeProxy.Config
			for _, i := range entries {
				cfg.Clusters[0].Origins = keptAt(cfg.Clusters[0].Origins, i)
			}
		},
	}}
}

// keptAt sets an entry of ignore_changes as the source of everything below its path.
func keptAt(origins config.Origins, i config.Ignored) config.Origins {
	path := ""
	for _, key := range i.Path {
		path = state.JoinPath(path, key)
	}
	out := config.Origins{path: state.DefaultSource(i.String())}
	for p, s := range origins {
		if !strings.HasPrefix(p, path+".") && !strings.HasPrefix(p, path+"[") && p != path {
			out[p] = s
		}
	}
	return out
}

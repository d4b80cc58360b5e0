package provenance

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/diff"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// settingsIn returns the settings in a block by their first key, sorted.
func settingsIn(origins config.Origins) map[string][]topology.Written {
	const separator = "\x00"
	enclosing := map[string]bool{}
	out := map[string][]topology.Written{}
	for _, path := range slices.Sorted(maps.Keys(origins)) {
		keys := state.SplitPath(path)
		for i := 1; i < len(keys); i++ {
			enclosing[strings.Join(keys[:i], separator)] = true
		}
		out[keys[0]] = append(out[keys[0]], topology.Written{Keys: keys, Source: origins[path]})
	}
	for _, settings := range out {
		for i := range settings {
			settings[i].Leaf = !enclosing[strings.Join(settings[i].Keys, separator)]
		}
	}
	return out
}

// fill adds the origins of the values of settings; existing origins take precedence.
func fill(out map[string]state.Source, rows []topology.Placing, settings map[string][]topology.Written) {
	for _, row := range rows {
		for _, s := range settings[row.Setting[0]] {
			key, rest, ok := match(row, s)
			if !ok {
				continue
			}
			for _, v := range row.Values {
				if path := filled(v, key, rest); out[path].IsZero() {
					out[path] = s.Source
				}
			}
		}
	}
}

// match reports whether the row applies to a setting, and returns the keys for its "*" and "**".
func match(p topology.Placing, s topology.Written) (one string, rest []string, ok bool) {
	for i, key := range p.Setting {
		switch {
		case i >= len(s.Keys):
			return "", nil, false
		case key == "**":
			return one, s.Keys[i:], s.Leaf
		case key == "*":
			one = s.Keys[i]
		case key != s.Keys[i]:
			return "", nil, false
		}
	}
	return one, nil, len(s.Keys) == len(p.Setting)
}

// filled returns a path with keys in place of "*" and "**".
func filled(keys []string, one string, rest []string) string {
	path := ""
	for _, key := range keys {
		switch key {
		case "*":
			path = state.JoinPath(path, one)
		case "**":
			for _, k := range rest {
				path = state.JoinPath(path, k)
			}
		default:
			path = state.JoinPath(path, key)
		}
	}
	return path
}

// sharedOrigins returns the origins of an item that come from the cluster's settings.
func sharedOrigins(c *topology.Cluster, p *topology.Placings) map[string]state.Source {
	m, key := c.Fleet.Cache, topology.SharedKey{Cluster: c.Cluster, Placings: p}
	if _, ok := m.Shared[key]; !ok {
		if _, ok := m.Settings[c.Target]; !ok {
			m.Settings[c.Target] = settingsIn(c.Origins)
		}
		out := map[string]state.Source{}
		fill(out, p.Cluster, m.Settings[c.Target])
		m.Shared[key] = out
	}
	return m.Shared[key]
}

// ownSettings returns the settings of the node block.
func ownSettings(n *topology.Node) map[string][]topology.Written {
	m := n.Cluster.Fleet.Cache
	if _, ok := m.Settings[n.Target]; !ok {
		m.Settings[n.Target] = settingsIn(n.Origins)
	}
	return m.Settings[n.Target]
}

// FileOrigins sets the origins of a file of the node, whose settings take precedence over the
// cluster's.
func FileOrigins(n *topology.Node, it *state.Item, p *topology.Placings) {
	it.Origin = map[string]state.Source{}
	if !topology.Observed(n.Cluster.Fleet) {
		return
	}
	fill(it.Origin, p.Before, ownSettings(n))
	for path, s := range sharedOrigins(n.Cluster, p) {
		if it.Origin[path].IsZero() {
			it.Origin[path] = s
		}
	}
	fill(it.Origin, p.Behind, ownSettings(n))
	complete(n.Cluster, it, p)
}

// PodOrigins sets the origins of the static pod of a component.
func PodOrigins(n *topology.Node, it *state.Item, component string, render func(kubeadm.Input) ([]byte, error)) {
	FileOrigins(n, it, podPlacings[component])
	override(it, patchedFile(n, it, component, render))
}

// KubeletOrigins sets the origins of the kubelet's configuration. The effect of patches is the same
// on all nodes without settings of their own.
func KubeletOrigins(n *topology.Node, it *state.Item) {
	FileOrigins(n, it, kubeletPlacings)
	if !topology.Observed(n.Cluster.Fleet) {
		return
	}
	m, key := n.Cluster.Fleet.Cache, KubeletKey(n)
	patched, ok := m.Patched[key]
	if !ok || !Plain(n) {
		patched = patchedFile(n, it, "kubeletconfiguration", kubeadm.KubeletConfig)
	}
	if Plain(n) {
		m.Patched[key] = patched
	}
	override(it, patched)
}

// patchedFile returns the paths of a file that its patches have changed.
func patchedFile(n *topology.Node, it *state.Item, target string, render func(kubeadm.Input) ([]byte, error)) []topology.PatchedPath {
	if !topology.Observed(n.Cluster.Fleet) {
		return nil
	}
	return patchedPaths(it, target, n.Input(), func(in kubeadm.Input) (state.Item, error) {
		out := *it
		content, err := render(in)
		if err == nil {
			out.Attributes, err = FileAttributes(n.Cluster.Fleet, it.Kind, content, it.Attributes.Get("mode").AsString(), topology.Root)
		}
		return out, err
	})
}

// ObjectOrigins sets the origins of an object that the cluster's primary renders.
func ObjectOrigins(c *topology.Cluster, it *state.Item, ref state.ObjectRef) {
	if !topology.Observed(c.Fleet) {
		return
	}
	name := ref.Kind + "/" + ref.Name
	p, ok := objectPlacings[name]
	if !ok {
		p = kubeadmsOwn
	}
	it.Origin = maps.Clone(sharedOrigins(c, p))
	fill(it.Origin, p.Behind, ownSettings(c.PrimaryNode()))
	complete(c, it, p)
	if target, ok := patchTargets[name]; ok {
		override(it, patchedPaths(it, target, PrimaryInput(c), func(in kubeadm.Input) (state.Item, error) {
			if err := kubeadm.Check(in); err != nil {
				return state.Item{}, err
			}
			for _, o := range kubeadm.Objects(in) {
				if o.Ref == ref {
					return ObjectItem(c.Target, it.Address.Phase, ref, o.Object), nil
				}
			}
			return state.Item{}, fmt.Errorf("no %s is rendered", name)
		}))
	}
}

// complete adds the origins of images, and kubeadm's default as the origin of the rest.
func complete(c *topology.Cluster, it *state.Item, p *topology.Placings) {
	for _, i := range p.Images {
		fillImage(c, it.Origin, i, it.Attributes.Get(i.Value).AsString())
	}
	if it.Origin[""].IsZero() {
		it.Origin[""] = Usual(c)
	}
}

// fillImage adds the origins of an image: of its tag, of its repository, and of both.
func fillImage(c *topology.Cluster, out map[string]state.Source, p topology.ImagePlacing, image string) {
	colon := strings.LastIndex(image, ":")
	if colon < 0 {
		return
	}
	out[p.At] = ClusterOrigin(c, p.Tag...)
	out[state.JoinPath(p.At, image[:colon])] = ClusterOrigin(c, p.Repository...)
	out[state.JoinPath(p.At, image[colon:])] = ClusterOrigin(c, p.Tag...)
}

// Usual returns the origin of values that the configuration does not set.
func Usual(c *topology.Cluster) state.Source {
	return state.DefaultSource("kubeadm " + minor(c.KubernetesVersion))
}

// ClusterOrigin returns where the configuration sets the first of some paths of the cluster block
// that it has, or else kubeadm's default for this version.
func ClusterOrigin(c *topology.Cluster, paths ...string) state.Source {
	for _, p := range paths {
		if s, ok := c.Origins[p]; ok {
			return s
		}
	}
	return Usual(c)
}

// NodeOrigin returns the origin of the first of the paths that the node block sets.
func NodeOrigin(n *topology.Node, paths ...string) state.Source {
	for _, p := range paths {
		if s, ok := n.Origins[p]; ok {
			return s
		}
	}
	return n.Source
}

// patchedPaths returns the paths that the patches of a target change, in order: those that differ
// without the patch. render renders the item.
func patchedPaths(it *state.Item, target string, in kubeadm.Input, render func(kubeadm.Input) (state.Item, error)) []topology.PatchedPath {
	patches := kubeadm.Patches(in, target)
	if len(patches) == 0 {
		return nil
	}
	var out []topology.PatchedPath
	before, err := render(WithPatches(in, target, 0))
	for i := 0; i < len(patches) && err == nil; i++ {
		after := *it
		if i+1 < len(patches) {
			if after, err = render(WithPatches(in, target, i+1)); err != nil {
				break // a later patch corrects the result of this one
			}
		}
		for _, path := range pathsBetween(after, before) {
			out = append(out, topology.PatchedPath{Path: path, Source: patches[i].Source})
		}
		before = after
	}
	return out
}

// override replaces the origins of patched paths of an item.
func override(it *state.Item, patched []topology.PatchedPath) {
	for _, o := range patched {
		maps.DeleteFunc(it.Origin, func(p string, _ state.Source) bool {
			return p == o.Path || strings.HasPrefix(p, o.Path+".") || strings.HasPrefix(p, o.Path+"[")
		})
		it.Origin[o.Path] = o.Source
	}
}

// WithPatches returns an input with only the first count patches of a target.
func WithPatches(in kubeadm.Input, target string, count int) kubeadm.Input {
	keep := func(patches []config.Patch) []config.Patch {
		var out []config.Patch
		for _, p := range patches {
			if p.Target == target {
				if count == 0 {
					continue
				}
				count--
			}
			out = append(out, p)
		}
		return out
	}
	c, n := *in.Cluster, *in.Node
	c.Patches = keep(c.Patches)
	n.Patches = keep(n.Patches)
	in.Cluster, in.Node = &c, &n
	return in
}

// pathsBetween returns the paths at which two versions of an item differ.
func pathsBetween(want, have state.Item) []string {
	var snapshots [3]state.Snapshot
	snapshots[0].Items, snapshots[1].Items = []state.Item{want}, []state.Item{have}
	for i := range snapshots {
		snapshots[i].Sort()
	}
	var out []string
	for _, change := range diff.Changes(&snapshots[0], &snapshots[1], &snapshots[2]) {
		for _, a := range change.Attributes {
			out = append(out, a.Path)
		}
	}
	return out
}

func KubeletKey(n *topology.Node) topology.KubeletKey {
	return topology.KubeletKey{Cluster: n.Settings, Resolved: n.Facts().SystemdResolved, Socket: n.RuntimeSocket()}
}

// Plain reports whether the node block does not affect the configuration of components, except for
// arguments, which always fit.
func Plain(n *topology.Node) bool { return n.Kubelet.Config.IsNull() && len(n.Patches) == 0 }

// PrimaryInput returns the input from which the objects in the cluster are rendered.
func PrimaryInput(c *topology.Cluster) kubeadm.Input {
	in := c.PrimaryNode().Input()
	in.Cluster = c.Shared
	return in
}

// FileAttributes parses a file's content according to the item's kind. The desired side uses it as
// well, so that equal files have equal attributes.
func FileAttributes(v *topology.Fleet, kind state.Kind, content []byte, mode, owner string) (state.Value, error) {
	tree, err := v.Cache.Tree(kind, content)
	if err != nil {
		return state.Value{}, err
	}
	m := map[string]state.Value{"mode": state.String(mode), "owner": state.String(owner)}
	maps.Copy(m, tree.AsMap())
	return state.Map(m), nil
}

// minor returns 1.36 for 1.36.3.
func minor(version string) string {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return version
	}
	return parts[0] + "." + parts[1]
}

// GivenCertificate is the path of the cluster's CA in the configuration.
const GivenCertificate = "certificates.ca.certificate"

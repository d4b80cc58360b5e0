package phases

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// Who reads a plan asks of each value that changes which line wants it. Most values
// are a setting put into a file or object; tables say which goes where, and what no
// row of a table speaks of is kubeadm's default. What a patch sets shows when the same
// is rendered without it.

// placing says where in an item a setting is. Both are paths, taken apart. A key "*"
// is any one key, the same on both sides, and "**" at the end any keys that follow:
// a value in a tree.
type placing struct {
	setting []string
	values  [][]string
}

func place(setting string, values ...string) placing {
	p := placing{setting: state.SplitPath(setting)}
	for _, v := range values {
		p.values = append(p.values, state.SplitPath(v))
	}
	return p
}

// placings tell where the values of an item come from. A row counts before those
// behind it.
type placings struct {
	// cluster are those of the cluster's settings. Of the node's some count before
	// these, as they do in a kubelet, and some behind, as an address that an argument
	// may say otherwise. Objects have only the latter, of the cluster's seat.
	before, cluster, behind []placing
	images                  []imagePlacing
}

// imagePlacing is an image in an item: value is where, and at as a change has it. Of
// the settings of its repository and tag the first that is written counts.
type imagePlacing struct {
	value, at       string
	repository, tag []string
}

// written is a setting that stands in the configuration.
type written struct {
	keys   []string
	source state.Source
	// leaf tells that nothing inside of it is written.
	leaf bool
}

// settingsIn are the settings that stand in a block, by the first key, sorted.
func settingsIn(origins config.Origins) map[string][]written {
	const separator = "\x00"
	enclosing := map[string]bool{}
	out := map[string][]written{}
	for _, path := range slices.Sorted(maps.Keys(origins)) {
		keys := state.SplitPath(path)
		for i := 1; i < len(keys); i++ {
			enclosing[strings.Join(keys[:i], separator)] = true
		}
		out[keys[0]] = append(out[keys[0]], written{keys: keys, source: origins[path]})
	}
	for _, settings := range out {
		for i := range settings {
			settings[i].leaf = !enclosing[strings.Join(settings[i].keys, separator)]
		}
	}
	return out
}

// fill adds the origins of the values of settings; what is there already counts.
func fill(out map[string]state.Source, rows []placing, settings map[string][]written) {
	for _, row := range rows {
		for _, s := range settings[row.setting[0]] {
			key, rest, ok := row.match(s)
			if !ok {
				continue
			}
			for _, v := range row.values {
				if path := filled(v, key, rest); out[path].IsZero() {
					out[path] = s.source
				}
			}
		}
	}
}

// match tells whether the row is about a setting, and what its "*" and "**" are.
func (p placing) match(s written) (one string, rest []string, ok bool) {
	for i, key := range p.setting {
		switch {
		case i >= len(s.keys):
			return "", nil, false
		case key == "**":
			return one, s.keys[i:], s.leaf
		case key == "*":
			one = s.keys[i]
		case key != s.keys[i]:
			return "", nil, false
		}
	}
	return one, nil, len(s.keys) == len(p.setting)
}

// filled is a path with keys in the place of "*" and "**".
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

// sharedKey is an item as far as it is the same for all nodes of a cluster.
type sharedKey struct {
	cluster  *cluster
	placings *placings
}

// sharedOrigins are those of an item that are the cluster's settings.
func (c *cluster) sharedOrigins(p *placings) map[string]state.Source {
	m, key := c.view.memo, sharedKey{c, p}
	if _, ok := m.shared[key]; !ok {
		if _, ok := m.settings[c.target]; !ok {
			m.settings[c.target] = settingsIn(c.Origins)
		}
		out := map[string]state.Source{}
		fill(out, p.cluster, m.settings[c.target])
		m.shared[key] = out
	}
	return m.shared[key]
}

// ownSettings are the settings of the node block.
func (n *node) ownSettings() map[string][]written {
	m := n.cluster.view.memo
	if _, ok := m.settings[n.target]; !ok {
		m.settings[n.target] = settingsIn(n.Origins)
	}
	return m.settings[n.target]
}

// fileOrigins are those of a file of the node, whose settings count before the cluster's.
func (n *node) fileOrigins(it *state.Item, p *placings) {
	it.Origin = map[string]state.Source{}
	if n.cluster.view.pathsOnly {
		return
	}
	fill(it.Origin, p.before, n.ownSettings())
	for path, s := range n.cluster.sharedOrigins(p) {
		if it.Origin[path].IsZero() {
			it.Origin[path] = s
		}
	}
	fill(it.Origin, p.behind, n.ownSettings())
	n.cluster.complete(it, p)
}

// podOrigins are those of the static pod of a component.
func (n *node) podOrigins(it *state.Item, component string, render func(kubeadm.Input) ([]byte, error)) {
	n.fileOrigins(it, podPlacings[component])
	override(it, n.patchedFile(it, component, render))
}

// kubeletOrigins are those of the kubelet's configuration. What patches make of it is
// the same on all nodes that have no settings of their own.
func (n *node) kubeletOrigins(it *state.Item) {
	n.fileOrigins(it, kubeletPlacings)
	if n.cluster.view.pathsOnly {
		return
	}
	m, key := n.cluster.view.memo, n.kubeletKey()
	patched, ok := m.patched[key]
	if !ok || !n.plain() {
		patched = n.patchedFile(it, "kubeletconfiguration", kubeadm.KubeletConfig)
	}
	if n.plain() {
		m.patched[key] = patched
	}
	override(it, patched)
}

// patchedFile are the paths of a file that its patches made others.
func (n *node) patchedFile(it *state.Item, target string, render func(kubeadm.Input) ([]byte, error)) []patchedPath {
	if n.cluster.view.pathsOnly {
		return nil
	}
	return patchedPaths(it, target, n.input(), func(in kubeadm.Input) (state.Item, error) {
		out := *it
		content, err := render(in)
		if err == nil {
			out.Attributes, err = n.cluster.view.fileAttributes(it.Kind, content, it.Attributes.Get("mode").AsString(), root)
		}
		return out, err
	})
}

// objectOrigins are those of an object that the cluster's seat renders.
func (c *cluster) objectOrigins(it *state.Item, ref state.ObjectRef) {
	if c.view.pathsOnly {
		return
	}
	name := ref.Kind + "/" + ref.Name
	p, ok := objectPlacings[name]
	if !ok {
		p = kubeadmsOwn
	}
	it.Origin = maps.Clone(c.sharedOrigins(p))
	fill(it.Origin, p.behind, c.seatNode().ownSettings())
	c.complete(it, p)
	if target, ok := patchTargets[name]; ok {
		override(it, patchedPaths(it, target, c.seatInput(), func(in kubeadm.Input) (state.Item, error) {
			if err := kubeadm.Check(in); err != nil {
				return state.Item{}, err
			}
			for _, o := range kubeadm.Objects(in) {
				if o.Ref == ref {
					return objectItem(c.target, it.Address.Phase, ref, o.Object), nil
				}
			}
			return state.Item{}, fmt.Errorf("no %s is rendered", name)
		}))
	}
}

// complete adds the origins of images, and that the rest is kubeadm's default.
func (c *cluster) complete(it *state.Item, p *placings) {
	for _, i := range p.images {
		c.fillImage(it.Origin, i, it.Attributes.Get(i.value).AsString())
	}
	if it.Origin[""].IsZero() {
		it.Origin[""] = c.usual()
	}
}

// fillImage adds the origins of an image: of its tag, of its repository, and of both.
func (c *cluster) fillImage(out map[string]state.Source, p imagePlacing, image string) {
	colon := strings.LastIndex(image, ":")
	if colon < 0 {
		return
	}
	out[p.at] = c.origin(p.tag...)
	out[state.JoinPath(p.at, image[:colon])] = c.origin(p.repository...)
	out[state.JoinPath(p.at, image[colon:])] = c.origin(p.tag...)
}

// usual is the origin of what the configuration says nothing of.
func (c *cluster) usual() state.Source {
	return state.DefaultSource("kubeadm " + minor(c.KubernetesVersion))
}

// origin is where the configuration speaks of one of some paths of the cluster block,
// the first that it has, or the default that kubeadm of this version has.
func (c *cluster) origin(paths ...string) state.Source {
	for _, p := range paths {
		if s, ok := c.Origins[p]; ok {
			return s
		}
	}
	return c.usual()
}

// origin is the first of the paths that the node block speaks of.
func (n *node) origin(paths ...string) state.Source {
	for _, p := range paths {
		if s, ok := n.Origins[p]; ok {
			return s
		}
	}
	return n.Source
}

// patchedPath is a path of an item where a patch made it another.
type patchedPath struct {
	path   string
	source state.Source
}

// patchedPaths are those of the patches of a target, in their order: what they set or
// take away is what comes out otherwise without them. Render renders the item.
func patchedPaths(it *state.Item, target string, in kubeadm.Input, render func(kubeadm.Input) (state.Item, error)) []patchedPath {
	patches := kubeadm.Patches(in, target)
	if len(patches) == 0 {
		return nil
	}
	var out []patchedPath
	before, err := render(withPatches(in, target, 0))
	for i := 0; i < len(patches) && err == nil; i++ {
		after := *it
		if i+1 < len(patches) {
			if after, err = render(withPatches(in, target, i+1)); err != nil {
				break // a patch mends what the one before it leaves
			}
		}
		for _, path := range pathsBetween(after, before) {
			out = append(out, patchedPath{path, patches[i].Source})
		}
		before = after
	}
	return out
}

// override puts the patches over the origins of an item.
func override(it *state.Item, patched []patchedPath) {
	for _, o := range patched {
		maps.DeleteFunc(it.Origin, func(p string, _ state.Source) bool {
			return p == o.path || strings.HasPrefix(p, o.path+".") || strings.HasPrefix(p, o.path+"[")
		})
		it.Origin[o.path] = o.source
	}
}

// withPatches is an input with only so many of the patches of a target.
func withPatches(in kubeadm.Input, target string, count int) kubeadm.Input {
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

// pathsBetween are the paths at which an item is not as it was.
func pathsBetween(want, have state.Item) []string {
	var snapshots [3]state.Snapshot
	snapshots[0].Items, snapshots[1].Items = []state.Item{want}, []state.Item{have}
	for i := range snapshots {
		snapshots[i].Sort()
	}
	var out []string
	for _, change := range planner.Diff(&snapshots[0], &snapshots[1], &snapshots[2]) {
		for _, a := range change.Attributes {
			out = append(out, a.Path)
		}
	}
	return out
}

package config

import (
	"cmp"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

// Move is a moved block: the target From in the state is the block To now. A node without key
// stands for all keys of its block, unless To has a key.
type Move struct {
	From, To state.Target
	Source   state.Source
	// ToSource is the position of To.
	ToSource state.Source `json:"-"`
}

// Removal is a removed block: what happens to a target whose block is gone.
type Removal struct {
	// From without key is every node of the block; a cluster includes its nodes.
	From state.Target
	// Destroy reports whether the target is drained and reset, as without a removed block.
	// Otherwise it is forgotten: the state drops it, and no host is touched.
	Destroy bool
	// AllowDestroy reports whether prevent_destroy = false is written: it lifts the recorded
	// protection.
	AllowDestroy bool `json:",omitempty"`
	// Unreachable reports whether the host is gone for good: the node is removed from its
	// cluster, and nothing is done on the host.
	Unreachable bool
	Source      state.Source
}

// Import is an import block: the cluster of an existing host becomes the block To.
type Import struct {
	To state.Target
	// ID is one of its control planes, as a URL: ssh://10.0.0.11.
	ID     string
	Source state.Source
	// Connection is the connection of hosts that have none of their own.
	Connection Connection `json:"-"`
	// Unwritten reports whether To has no block yet, and gets one that describes the cluster.
	Unwritten bool `json:",omitempty"`
}

// Host returns the host that the ID names; empty if it names none.
func (i Import) Host() string {
	u, err := url.Parse(i.ID)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// Covers reports whether the removal refers to the target.
func (r Removal) Covers(t state.Target) bool { return Covers(r.From, t) }

// Covers reports whether an address refers to a target: the target itself or, for the name of a
// node block alone, any of its nodes.
func Covers(address, t state.Target) bool {
	return address == t || !address.Keyed && address.Type == t.Type && address.Name == t.Name && t.Type == state.TypeNode
}

// Prevents reports whether a target is protected; recorded is the protection in the state,
// which stays in effect if nothing is written.
func (l Lifecycle) Prevents(recorded bool) bool {
	return l.PreventDestroy || recorded && !l.AllowDestroy
}

// Lifecycle is the lifecycle block of a cluster or node.
type Lifecycle struct {
	// PreventDestroy refuses every plan that would destroy or replace the target. The state
	// records it, so that it outlives the block.
	PreventDestroy bool
	// AllowDestroy reports whether prevent_destroy = false is written: it lifts the recorded
	// protection.
	AllowDestroy bool `json:",omitempty"`
	// IgnoreChanges are values that the configuration sets only when the cluster or node is
	// created; afterwards others may change them.
	IgnoreChanges []Ignored
	Source        state.Source
}

// Ignored is one entry of ignore_changes.
type Ignored struct {
	// Path is the path of the value in the language: kubelet.config.maxPods,
	// labels["node.example.com/pool"].
	Path   []string
	Source state.Source
}

// String returns the path for a message.
func (i Ignored) String() string {
	var b strings.Builder
	for n, key := range i.Path {
		switch {
		case n == 0:
			b.WriteString(key)
		case slices.Contains([]string{"arg", "addon", "unit"}, i.Path[n-1]) || strings.ContainsAny(key, "./:- "):
			b.WriteString("[" + Quote(key) + "]")
		default:
			b.WriteString("." + key)
		}
	}
	return b.String()
}

// Ignores reports whether an entry has the path or a parent of it.
func (l Lifecycle) Ignores(path ...string) bool {
	return slices.ContainsFunc(l.IgnoreChanges, func(i Ignored) bool {
		return len(i.Path) <= len(path) && slices.Equal(i.Path, path[:len(i.Path)])
	})
}

// Below lists what follows the path in each entry; an entry that equals the path gives an empty
// one.
func (l Lifecycle) Below(path ...string) [][]string {
	var out [][]string
	for _, i := range l.IgnoreChanges {
		if len(i.Path) >= len(path) && slices.Equal(i.Path[:len(path)], path) {
			out = append(out, i.Path[len(path):])
		}
	}
	return out
}

// ignorable is a value that ignore_changes can name, and how many keys may follow: none, one,
// or with deep any number. With needed at least one has to.
type ignorable struct {
	path         []string
	keys         int
	needed, deep bool
}

var nodeIgnorable = []ignorable{
	{path: []string{"labels"}, keys: 1},
	{path: []string{"annotations"}, keys: 1},
	{path: []string{"taints"}},
	{path: []string{"schedulable"}},
	{path: []string{"kubelet", "config"}, deep: true},
	{path: []string{"kubelet", "arg"}, keys: 1, needed: true},
	{path: []string{"sysctls"}, keys: 1},
	{path: []string{"unit"}, keys: 1, needed: true},
}

var clusterIgnorable = []ignorable{
	{path: []string{"api_server", "arg"}, keys: 1, needed: true},
	{path: []string{"controller_manager", "arg"}, keys: 1, needed: true},
	{path: []string{"scheduler", "arg"}, keys: 1, needed: true},
	{path: []string{"etcd", "arg"}, keys: 1, needed: true},
	{path: []string{"kubelet", "config"}, deep: true},
	{path: []string{"kube_proxy", "config"}, deep: true},
	{path: []string{"addon"}, keys: 1, needed: true},
	{path: []string{"sysctls"}, keys: 1},
	{path: []string{"unit"}, keys: 1, needed: true},
}

// name returns the row for a message: labels["KEY"], kubelet.config.
func (r ignorable) name() string {
	out := strings.Join(r.path, ".")
	if r.needed {
		out += `["NAME"]`
	}
	return out
}

func (r ignorable) takes(path []string) bool {
	n := len(path) - len(r.path)
	return n >= 0 && slices.Equal(path[:len(r.path)], r.path) && (r.deep || n <= r.keys) && (n > 0 || !r.needed)
}

// lifecycle checks the entries of ignore_changes.
func (c checker) lifecycle(l Lifecycle, rows []ignorable) {
	var names, paths []string
	for _, r := range rows {
		names, paths = append(names, r.name()), append(paths, strings.Join(r.path, "."))
	}
	for _, i := range l.IgnoreChanges {
		if slices.ContainsFunc(rows, func(r ignorable) bool { return r.takes(i.Path) }) {
			continue
		}
		hint := ""
		if near := Nearest(strings.Join(i.Path[:min(2, len(i.Path))], "."), paths); near != "" {
			hint = " Did you mean " + names[slices.Index(paths, near)] + "?"
		}
		c.errorAt(i.Source, "Change cannot be ignored", "%s is nothing whose changes can be ignored here.%s Entries are %s, or a key below one of them.", i, hint, list(names))
	}
}

// changes checks moved and removed blocks against the other blocks.
func (c *Config) changes(out *diag.Diagnostics) {
	before := len(out.Errors())
	from, to := map[state.Target]Move{}, map[state.Target]Move{}
	for _, m := range c.Moves {
		c.move(out, m)
		if o, twice := from[m.From]; twice {
			out.Append(diag.Errorf("Ambiguous move", "%s is moved at %s already, to %s. It can go to one place only.", m.From, o.Source, o.To).At(m.Source))
		}
		if o, twice := to[m.To]; twice {
			out.Append(diag.Errorf("Ambiguous move", "At %s another address, %s, is moved to %s already. Only one can become it.", o.Source, o.From, m.To).At(m.Source))
		}
		from[m.From], to[m.To] = m, m
	}
	for _, m := range c.Moves {
		if m.From != m.To && circle(m, from) {
			out.Append(diag.Errorf("Cycle of moves", "%s comes back to itself by the moved blocks. What changes places with another needs three applies, "+
				"with a name in between.", m.From).At(m.Source))
		}
	}
	if len(out.Errors()) == before && !c.Incomplete {
		c.destinations(out)
	}
	c.imports(out)
	seen := map[state.Target]Removal{}
	for _, r := range c.Removals {
		c.removal(out, r)
		if o, twice := seen[r.From]; twice {
			out.Append(diag.Errorf("Duplicate removed block", "%s already has a removed block at %s.", r.From, o.Source).At(r.Source))
		}
		seen[r.From] = r
	}
}

// imports checks import blocks against the cluster blocks.
func (c *Config) imports(out *diag.Diagnostics) {
	seen := map[state.Target]Import{}
	for _, i := range c.Imports {
		if o, twice := seen[i.To]; twice {
			out.Append(diag.Errorf("Duplicate import", "%s is imported at %s already.", i.To, o.Source).At(i.Source))
		}
		seen[i.To] = i
		switch {
		case i.Unwritten:
		case i.To.Type != state.TypeCluster || !c.declared(i.To):
			out.Append(diag.Errorf("Nothing to import to", "%s is no cluster of this configuration. A cluster is imported as a whole, to the block that describes it. "+
				"Write that block, or have it written: kubewright plan -generate-config-out=cluster.hcl.", i.To).At(i.Source))
		case c.Incomplete:
		case i.Host() == "":
			out.Append(diag.Errorf("Unknown host", "id = %s does not say how the host is reached: it is a URL. Write %s.", Quote(i.ID), Quote(c.importable(i))).At(i.Source))
		case !slices.ContainsFunc(c.NodesOf(i.To.Name, ControlPlane), func(n *Node) bool { return n.Address == i.Host() || n.Connection.Host == i.Host() }):
			out.Append(diag.Errorf("Unknown host", "%s has no control plane with the address of id = %s. Write one that it has, as in %s.", i.To, Quote(i.ID), Quote(c.importable(i))).At(i.Source))
		}
	}
}

// importable returns an id that an import could have: the host that its id names without a
// scheme, or the cluster's first control plane.
func (c *Config) importable(i Import) string {
	planes, host := c.NodesOf(i.To.Name, ControlPlane), ""
	if i.Host() == "" {
		host = i.ID
		if before, _, err := net.SplitHostPort(i.ID); err == nil {
			host = before
		}
	}
	if len(planes) == 0 {
		if !validHost(host) {
			host = "10.0.0.11"
		}
		return DefaultConnectionType + "://" + host
	}
	n := planes[0]
	if at := slices.IndexFunc(planes, func(n *Node) bool { return host != "" && (n.Address == host || n.Connection.Host == host) }); at >= 0 {
		n = planes[at]
	}
	return cmp.Or(n.Connection.Type, DefaultConnectionType) + "://" + cmp.Or(n.Connection.Host, n.Address)
}

func circle(m Move, from map[state.Target]Move) bool {
	for at, n := m, 0; n <= len(from); n++ {
		next, ok := from[at.To]
		if !ok {
			return false
		}
		if next.From == m.From {
			return true
		}
		at = next
	}
	return false
}

func (c *Config) move(out *diag.Diagnostics, m Move) {
	switch {
	case m.From == m.To:
		out.Append(diag.Errorf("Move to itself", "from and to are both %s.", m.From).At(m.Source))
	case m.From.Type != m.To.Type:
		out.Append(diag.Errorf("Move between kinds", "%s is a %s and %s a %s. What is moved keeps its kind.", m.From, m.From.Type, m.To, m.To.Type).At(m.Source))
	case c.declared(m.From):
		out.Append(StillDeclared(m.From, m.To).At(m.Source))
	}
}

// StillDeclared refuses to move a target that still has a block. For a single address the
// configuration shows that; for a whole block, the keys in the state.
func StillDeclared(from, to state.Target) *diag.Diagnostic {
	return diag.Errorf("Moved object still exists", "This says that %s is now %s, but %s is still declared. "+
		"Remove its block or its key, or this moved block.", from, to, from)
}

// destinations warns about moves to an address that is not declared: the moved target is
// removed, under a name that no block has. Another moved block may continue from that address,
// and a removed block may say that the removal is intended.
func (c *Config) destinations(out *diag.Diagnostics) {
	for _, m := range c.Moves {
		continues := slices.ContainsFunc(c.Moves, func(o Move) bool { return Covers(o.From, m.To) || Covers(m.To, o.From) })
		ends := slices.ContainsFunc(c.Removals, func(r Removal) bool { return r.Covers(m.To) || Covers(m.To, r.From) })
		if continues || ends || c.declared(m.To) || slices.ContainsFunc(c.Nodes, func(n *Node) bool { return Covers(m.To, n.Target) }) {
			continue
		}
		end := "a node is drained and reset"
		if m.To.Type == state.TypeCluster {
			end = "every plan is refused until it is asked for that the cluster is destroyed"
		}
		out.Append(diag.Warningf("Target of a moved block is not declared", "%s is not declared.%s What %s is in the state gets this name, and is then no longer in the configuration: "+
			"%s. Write the address that it has in the configuration, or remove this moved block when both are gone.", m.To, c.near(m.To), m.From, end).At(m.ToSource))
	}
}

// near returns a question whether the nearest cluster or node was intended, or "".
func (c *Config) near(t state.Target) string {
	var names []string
	if t.Type == state.TypeCluster {
		for _, cl := range c.Clusters {
			names = append(names, cl.Label)
		}
	} else {
		for _, n := range c.Nodes {
			names = append(names, strings.TrimPrefix(n.Target.String(), state.TypeNode+"."))
		}
	}
	if near := Nearest(strings.TrimPrefix(t.String(), t.Type+"."), names); near != "" {
		return " Did you mean " + t.Type + "." + near + "?"
	}
	return ""
}

func (c *Config) removal(out *diag.Diagnostics, r Removal) {
	switch {
	case c.declared(r.From):
		out.Append(diag.Errorf("Removed object still exists", "This says that %s is gone, but it is still declared. Remove its block or its key, or this removed block.", r.From).At(r.Source))
	case r.Unreachable && !r.Destroy:
		out.Append(diag.Errorf("Conflicting removal", "unreachable = true takes %s out of its cluster, and lifecycle { destroy = false } leaves it there. Write one of them.", r.From).At(r.Source))
	case r.Unreachable && r.From.Type == state.TypeCluster:
		out.Append(diag.Errorf("Conflicting removal", "unreachable applies to nodes, each by its address: a cluster without any host left is forgotten with lifecycle { destroy = false }.").At(r.Source))
	}
}

// declared reports whether the configuration has the target. An address without key is also the
// address of a single node, so that a block may gain or lose its keys.
func (c *Config) declared(t state.Target) bool {
	if t.Type == state.TypeCluster {
		return c.Cluster(t.Name) != nil
	}
	return slices.ContainsFunc(c.Nodes, func(n *Node) bool { return n.Target == t })
}

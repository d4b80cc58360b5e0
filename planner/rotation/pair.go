package rotation

import (
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
)

// pair is a key pair that is rotated: a CA with its key, or the service account keys. Both go
// through the same stages, and through the same files: beside the pair that is in use, a second copy
// of the new pair and a file with only the old public half identify the two until the rotation is
// complete.
type pair struct {
	// base is the path without the endings .key and public.
	base, public string
	// in returns the identities in a file on a node's host.
	in func(n *topology.Node, path string) []string
}

func caPair(base string) pair { return pair{base, ".crt", (*topology.Node).CADigestsIn} }

func tokenPair(base string) pair { return pair{base, ".pub", publicKeys} }

// trusted is the file whose identities components trust, old the one with only the old identity.
func (p pair) trusted() string { return p.base + p.public }
func (p pair) old() string     { return p.base + "-old" + p.public }
func (p pair) next() string    { return p.base + "-next" + p.public }
func (p pair) nextKey() string { return p.base + "-next.key" }

// paths returns the files of a rotation in the order in which they are removed. The new public half
// goes last: by it a plan recognizes a copy that may be removed.
func (p pair) paths() []string { return []string{p.old(), p.nextKey(), p.next()} }

// holds reports whether a node has the whole second copy of the new pair.
func (p pair) holds(n *topology.Node) bool {
	return len(p.in(n, p.next())) > 0 && n.Report.Files[p.nextKey()].Exists
}

// progress returns the first node with a new pair, nil for none, and the identities of the two
// pairs. A pair that no component trusts may be foreign; known refuses others.
func (p pair) progress(nodes []*topology.Node, known func(*topology.Node) bool) (source *topology.Node, was, is string) {
	if i := slices.IndexFunc(nodes, func(n *topology.Node) bool {
		return p.holds(n) && known(n) && slices.ContainsFunc(nodes, func(o *topology.Node) bool { return slices.Contains(p.in(o, p.trusted()), p.in(n, p.next())[0]) })
	}); i >= 0 {
		source, is = nodes[i], p.in(nodes[i], p.next())[0]
	}
	for _, n := range nodes {
		for _, path := range []string{p.old(), p.trusted()} {
			if ids := p.in(n, path); len(ids) > 0 && ids[0] != is && was == "" {
				was = ids[0]
			}
		}
	}
	return source, was, is
}

// trust makes a node trust both pairs: bring creates or copies the new one, and its public half
// follows the old one. A pair that is not begun has no identity yet.
func (p pair) trust(n *topology.Node, begun bool, was, is string, bring planner.Operation) []planner.Operation {
	both := p.in(n, p.trusted())
	present := begun && p.holds(n) && slices.Contains(p.in(n, p.next()), is)
	if present && slices.Contains(both, was) && slices.Contains(both, is) && n.Report.Files[p.old()].Exists {
		return nil
	}
	var ops []planner.Operation
	if !present {
		ops = append(ops, bring)
	}
	if !begun || len(both) > 0 || !slices.Equal(p.in(n, p.old()), []string{was}) { // else only the trusted file was lost
		ops = append(ops, planner.BundleTrust{To: p.old(), Of: []string{p.trusted()}})
	}
	return append(ops, planner.BundleTrust{To: p.trusted(), Of: []string{p.old(), p.next()}})
}

// tidying reports whether all nodes use only the new pair, of which some still have the second copy.
func (p pair) tidying(nodes []*topology.Node) bool {
	var next []string
	for _, n := range nodes {
		if len(next) == 0 {
			next = p.in(n, p.next())
		}
	}
	return len(next) > 0 &&
		!slices.ContainsFunc(nodes, func(n *topology.Node) bool { return !slices.Equal(p.in(n, p.trusted()), next) }) &&
		slices.ContainsFunc(nodes, func(n *topology.Node) bool { return !p.holds(n) })
}

// end removes the files of a rotation that ends, or what an interrupted removal has left: a second
// copy of the current pair. Other files of these names are not kubewright's.
func (p pair) end(n *topology.Node, ends, mayLeave bool) []planner.Operation {
	next := p.in(n, p.next())
	left := mayLeave && len(next) > 0 && slices.Equal(next, p.in(n, p.trusted()))
	var ops []planner.Operation
	for _, path := range p.paths() {
		if ends || left && n.Report.Files[path].Exists {
			ops = append(ops, planner.RemovePath{Path: path})
		}
	}
	return ops
}

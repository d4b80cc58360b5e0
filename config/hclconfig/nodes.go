package hclconfig

import (
	"net/netip"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state"
)

// maxNodes limits the nodes that for_each can make.
const maxNodes = 10_000

// nodeSet is a node block: one node, or one per element of for_each.
type nodeSet struct {
	template *template
	keyed    bool
	forEach  *thunk
	status   thunkStatus
	ok       bool
	nodes    []*nodeInstance
	byKey    map[string]*nodeInstance
}

// nodeInstance is one node.
type nodeInstance struct {
	key    string
	target state.Target
	block  *block
}

// newNodeSet prepares a node block without evaluating anything.
func newNodeSet(t *template) *nodeSet {
	set := &nodeSet{template: t, byKey: map[string]*nodeInstance{}}
	if a := t.attrs["for_each"]; a != nil {
		set.keyed = true
		set.forEach = &thunk{name: "node." + t.label + ".for_each", row: nodeBlock.Attribute("for_each"), expr: a.Expr, at: a.Range}
	}
	return set
}

// keys returns the keys of for_each in order.
func (s *nodeSet) keys() []string {
	var keys []string
	for _, n := range s.nodes {
		keys = append(keys, n.key)
	}
	return keys
}

// instances makes the nodes of a set. It reports whether that is possible.
func (e *evaluator) instances(set *nodeSet) bool {
	switch {
	case set.status == done:
		return set.ok
	case !set.keyed:
		e.addNode(set, state.NodeTarget(set.template.label), "", nil)
		set.status, set.ok = done, true
		return true
	}
	v, marks := e.force(set.forEach).Unmark()
	if set.status == done {
		return set.ok
	}
	if set.forEach.status != done { // a cycle, reported
		return false
	}
	set.status = done
	if failed(marks) {
		return false
	}
	set.ok = e.checkForEach(set.forEach, v, marks)
	if !set.ok {
		return false
	}
	for it := v.ElementIterator(); it.Next(); {
		key, value := it.Element()
		if v.Type().IsSetType() {
			key = value
		}
		each := &scope{name: "each", value: cty.ObjectVal(map[string]cty.Value{"key": key, "value": value})}
		e.addNode(set, state.NodeKeyTarget(set.template.label, key.AsString()), key.AsString(), each)
	}
	return true
}

// addNode binds the block for one node.
func (e *evaluator) addNode(s *nodeSet, target state.Target, key string, each *scope) {
	n := &nodeInstance{key: key, target: target, block: bind(s.template, target.String(), "", each)}
	b := n.block
	e.deriveAdvertise(b)
	if s.forEach != nil {
		b.attrs["for_each"] = s.forEach // evaluated once for all
	}
	b.attrs["name"].derive = func() cty.Value {
		return orPending(e.known.Names[target], target, "name")
	}
	s.nodes = append(s.nodes, n)
	s.byKey[key] = n
}

// orPending returns a value that an apply finds out.
func orPending(value string, target state.Target, name string) cty.Value {
	if value != "" {
		return cty.StringVal(value)
	}
	return cty.UnknownVal(cty.String).Mark(pendingMark{target, name})
}

// deriveAccess sets the computed attributes of a cluster.
func deriveAccess(e *evaluator, b *block) {
	target := state.ClusterTarget(b.label)
	b.attrs["server"].derive = func() cty.Value {
		endpoint, marks := e.force(b.attrs["control_plane_endpoint"]).Unmark()
		switch {
		case failed(marks) || e.wrong(b, "bind_port"):
			return failedValue(cty.String)
		case endpoint.IsNull() || endpoint.AsString() == "":
			return orPending(e.known.Clusters[b.label].Server, target, "server")
		}
		return cty.StringVal("https://" + config.CompleteEndpoint(endpoint.AsString(), e.number(b, "bind_port"))).WithMarks(marks)
	}
	b.attrs["ca_certificate"].derive = func() cty.Value {
		return orPending(e.known.Clusters[b.label].CACertificate, target, "ca_certificate")
	}
}

// deriveAdvertise sets the default of advertise_addresses: the address, if that is an IP
// address.
func (e *evaluator) deriveAdvertise(b *block) {
	address := b.attrs["address"]
	b.attrs["advertise_addresses"].derive = func() cty.Value {
		v := e.force(address)
		plain, marks := v.Unmark()
		if failed(marks) || plain.IsNull() || !plain.IsKnown() {
			return failedValue(typeStrings.cty)
		}
		if _, err := netip.ParseAddr(plain.AsString()); err != nil {
			return cty.NullVal(typeStrings.cty)
		}
		return cty.ListVal([]cty.Value{v})
	}
}

// checkForEach reports values that cannot be the keys of nodes.
func (e *evaluator) checkForEach(t *thunk, v cty.Value, marks cty.ValueMarks) bool {
	r := t.expr.Range()
	if !e.iterable(r, v, marks, "A map or a set of strings is needed, because the keys name the nodes") {
		return false
	}
	typ := v.Type()
	switch {
	case typ.IsSetType() && typ.ElementType() == cty.String, typ.IsMapType(), typ.IsObjectType():
	case typ.IsSetType() && v.LengthInt() == 0:
	default:
		e.errorAt(r, "Invalid for_each argument", "for_each of a node takes a map or a set of strings, because the keys name the nodes; this is %s. A list of strings becomes a set with toset([…]).", typ.FriendlyName())
		return false
	}
	if n := v.LengthInt(); n > maxNodes {
		e.errorAt(r, "Too many nodes", "for_each has %d elements. A configuration can have %d nodes.", n, maxNodes)
		return false
	}
	if e.keyed += v.LengthInt(); e.keyed > maxNodes {
		e.errorAt(r, "Too many nodes", "With the elements of this for_each the configuration has %d nodes. It can have %d.", e.keyed, maxNodes)
		return false
	}
	for it := v.ElementIterator(); it.Next(); {
		key, value := it.Element()
		if typ.IsSetType() {
			key = value
		}
		if key.IsNull() || strings.TrimSpace(key.AsString()) == "" {
			e.errorAt(r, "Invalid for_each argument", "A key is null or empty. Keys name the nodes.")
			return false
		}
	}
	return true
}

// referenceLabel returns the label of a static reference such as cluster.prod; "" if it is
// none.
func referenceLabel(x hcl.Expression, root string) string {
	traversal, diags := hcl.AbsTraversalForExpr(x)
	if diags.HasErrors() || len(traversal) != 2 || traversal.RootName() != root {
		return ""
	}
	name, _ := stepName(traversal, 1)
	return name
}

package hclconfig

import (
	"maps"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// context returns the values that an expression refers to, and lists the attributes among them
// that are not evaluated yet.
func (e *evaluator) context(refs []hcl.Traversal, sc *scope) (*hcl.EvalContext, []*thunk) {
	c := contextBuilder{e: e, vars: map[string]cty.Value{}}
	groups := map[string][]hcl.Traversal{}
	for _, ref := range refs {
		name := ref.RootName()
		if v, ok := sc.find(name); ok {
			c.vars[name] = v
			continue
		}
		groups[name] = append(groups[name], ref)
	}
	for name, group := range groups {
		switch name {
		case "var":
			c.vars[name] = c.named(e.variables, group)
		case "local":
			c.vars[name] = c.named(e.locals, group)
		case "cluster":
			c.vars[name] = c.allClusters(group)
		case "node":
			c.vars[name] = c.allNodes(group)
		case "path":
			c.vars[name] = cty.ObjectVal(map[string]cty.Value{"module": cty.StringVal("."), "root": cty.StringVal(".")})
		}
	}
	e.meter.steps += c.attributes / attributesOfStep
	return &hcl.EvalContext{Variables: c.vars, Functions: e.functions}, c.lazies
}

// contextBuilder makes the objects that expressions refer to.
type contextBuilder struct {
	e      *evaluator
	vars   map[string]cty.Value
	lazies []*thunk
	// attributes counts the attributes of all objects.
	attributes int
}

// named returns the object var or local, with the referenced names.
func (c *contextBuilder) named(all map[string]*thunk, refs []hcl.Traversal) cty.Value {
	out := map[string]cty.Value{}
	for _, ref := range refs {
		name, ok := stepName(ref, 1)
		if t := all[name]; ok && t != nil {
			out[name] = c.value(t)
		}
	}
	return cty.ObjectVal(out)
}

// value returns the value of an attribute, or an unknown one with a lazy mark.
func (c *contextBuilder) value(t *thunk) cty.Value {
	if t.status == done {
		return t.value
	}
	if t.circular {
		return failedValue(cty.DynamicPseudoType)
	}
	c.lazies = append(c.lazies, t)
	typ := cty.DynamicPseudoType
	if t.row != nil {
		typ = t.row.Type.cty
	}
	return cty.UnknownVal(typ).Mark(lazyMark{t})
}

func (c *contextBuilder) allClusters(refs []hcl.Traversal) cty.Value {
	out := map[string]cty.Value{}
	for _, ref := range refs {
		name, ok := stepName(ref, 1)
		for label, b := range c.e.clusters {
			if !ok || label == name {
				out[label] = c.object(b)
			}
		}
	}
	return cty.ObjectVal(out)
}

// allNodes returns the object node. If a set of nodes is referenced only by constant keys, it
// has only those keys, so that many references to single nodes of a large set are cheap.
func (c *contextBuilder) allNodes(refs []hcl.Traversal) cty.Value {
	wanted := map[string]map[string]bool{} // nil: all keys
	for _, ref := range refs {
		label, ok := stepName(ref, 1)
		if !ok {
			for l := range c.e.nodes {
				wanted[l] = nil
			}
			continue
		}
		key, exact := stepName(ref, 2)
		keys, seen := wanted[label]
		switch {
		case !exact:
			wanted[label] = nil
		case !seen:
			wanted[label] = map[string]bool{key: true}
		case keys != nil:
			keys[key] = true
		}
	}
	out := map[string]cty.Value{}
	for label, keys := range wanted {
		if set := c.e.nodes[label]; set != nil {
			out[label] = c.nodeSet(set, keys)
		}
	}
	return cty.ObjectVal(out)
}

// nodeSet is node.LABEL: an object of the node, or of nodes by key.
func (c *contextBuilder) nodeSet(set *nodeSet, keys map[string]bool) cty.Value {
	if !c.e.instances(set) {
		return failedValue(cty.DynamicPseudoType)
	}
	if !set.keyed {
		return c.object(set.nodes[0].block)
	}
	out := map[string]cty.Value{}
	if keys != nil {
		for key := range keys {
			if n := set.byKey[key]; n != nil {
				out[key] = c.object(n.block)
			}
		}
		return cty.ObjectVal(out)
	}
	for _, n := range set.nodes {
		out[n.key] = c.object(n.block)
	}
	return cty.ObjectVal(out)
}

// object returns a block as a value: its attributes and single blocks.
func (c *contextBuilder) object(b *block) cty.Value {
	c.attributes += len(b.attrs)
	out := map[string]cty.Value{}
	for name, t := range b.attrs {
		if referable(t.row) {
			out[name] = c.value(t)
		}
	}
	for _, row := range b.row.Blocks {
		if row.single() && row.Name != connectionBlock.Name {
			out[row.Name] = c.object(c.e.one(b, row.Name))
		}
	}
	maps.Copy(out, b.constants())
	return cty.ObjectVal(out)
}

// constants returns the static attributes as other blocks see them.
func (b *block) constants() map[string]cty.Value {
	if b.row != nodeBlock {
		return nil
	}
	label := ""
	if a := b.template.attrs["cluster"]; a != nil {
		label = referenceLabel(a.Expr, "cluster")
	}
	return map[string]cty.Value{"cluster": cty.StringVal(label)}
}

// referable reports whether other expressions can refer to the attribute.
func referable(row *Attribute) bool { return row.Name != "for_each" && !row.Sensitive }

// stepName returns the name or constant string key at an index of a traversal.
func stepName(ref hcl.Traversal, i int) (string, bool) {
	if i >= len(ref) {
		return "", false
	}
	switch s := ref[i].(type) {
	case hcl.TraverseAttr:
		return s.Name, true
	case hcl.TraverseIndex:
		if s.Key.Type() == cty.String && s.Key.IsKnown() && !s.Key.IsNull() {
			return s.Key.AsString(), true
		}
	}
	return "", false
}

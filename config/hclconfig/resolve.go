package hclconfig

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/elsewhere"
)

// resolve checks that the targets of an expression's references exist, and evaluates those that
// it refers to by their full name. It reports whether there was no error.
func (e *evaluator) resolve(refs []hcl.Traversal, sc *scope) bool {
	ok := true
	for _, ref := range refs {
		name := ref.RootName()
		if _, found := sc.find(name); found {
			continue
		}
		switch name {
		case "var":
			ok = e.resolveNamed(ref, e.variables, "input variable", "variable") && ok
		case "local":
			ok = e.resolveNamed(ref, e.locals, "local value", "locals") && ok
		case "cluster":
			ok = e.resolveCluster(ref) && ok
		case "node":
			ok = e.resolveNode(ref) && ok
		case "path":
		case "each":
			e.errorAt(ref.SourceRange(), `Reference to "each" in context without for_each`, `The "each" object can be used only in a node block that has for_each.`)
			ok = false
		default:
			e.errorAt(ref.SourceRange(), "Unknown name", "Nothing is called %q here. References begin with var, local, cluster, node or each.%s", name, instead(name, []string{"var", "local", "cluster", "node", "each"}))
			ok = false
		}
	}
	return ok
}

// resolveNamed evaluates var.NAME or local.NAME.
func (e *evaluator) resolveNamed(ref hcl.Traversal, all map[string]*thunk, what, block string) bool {
	name, ok := stepName(ref, 1)
	if !ok {
		e.errorAt(ref.SourceRange(), "Invalid reference", "%q is no value by itself: a name must follow, as in %s.name.", ref.RootName(), ref.RootName())
		return false
	}
	t := all[name]
	if t == nil {
		e.errorAt(ref.SourceRange(), "Reference to undeclared "+what, "%s %s with the name %q has not been declared.%s It would be declared in a %s block.",
			article(what), what, name, suggest(name, slices.Sorted(maps.Keys(all))), block)
		return false
	}
	e.force(t)
	return true
}

func article(s string) string {
	if strings.ContainsRune("aeiou", rune(s[0])) {
		return "An"
	}
	return "A"
}

// resolveCluster evaluates cluster.LABEL.path.
func (e *evaluator) resolveCluster(ref hcl.Traversal) bool {
	name, ok := stepName(ref, 1)
	if !ok {
		return true
	}
	b := e.clusters[name]
	if b == nil {
		e.undeclared(ref, "cluster", name, slices.Sorted(maps.Keys(e.clusters)))
		return false
	}
	return e.resolvePath(b, ref, 2)
}

// resolveNode evaluates node.LABEL.path or node.LABEL["KEY"].path.
func (e *evaluator) resolveNode(ref hcl.Traversal) bool {
	name, ok := stepName(ref, 1)
	if !ok {
		return true
	}
	set := e.nodes[name]
	if set == nil {
		e.undeclared(ref, "node", name, slices.Sorted(maps.Keys(e.nodes)))
		return false
	}
	if !e.instances(set) {
		return false
	}
	if !set.keyed {
		return e.resolvePath(set.nodes[0].block, ref, 2)
	}
	key, ok := stepName(ref, 2)
	if !ok {
		return true
	}
	n := set.byKey[key]
	if n == nil {
		hint := suggest(key, set.keys())
		if _, attr := ref[2].(hcl.TraverseAttr); attr && (nodeBlock.Attribute(key) != nil || nodeBlock.Block(key) != nil) {
			hint = " The block has for_each, so a key comes first, as in node." + name + "[\"KEY\"]." + key + "."
		}
		e.errorAt(ref.SourceRange(), "Reference to undeclared node", "The block node %q has no element with the key %q.%s", name, key, hint)
		return false
	}
	return e.resolvePath(n.block, ref, 3)
}

// undeclared reports a reference to a block that does not exist.
func (e *evaluator) undeclared(ref hcl.Traversal, what, name string, names []string) {
	e.errorAt(ref.SourceRange(), "Reference to undeclared "+what, "A %s with the name %q has not been declared.%s", what, name, suggest(name, names))
}

// resolvePath follows a traversal into a block.
func (e *evaluator) resolvePath(b *block, ref hcl.Traversal, i int) bool {
	name, ok := stepName(ref, i)
	if !ok {
		return true
	}
	if t := b.attrs[name]; t != nil && referable(t.row) {
		e.force(t)
		return true
	}
	if _, ok := b.constants()[name]; ok {
		return true
	}
	if row := b.row.Block(name); row != nil && row.single() && row.Name != connectionBlock.Name {
		return e.resolvePath(e.one(b, name), ref, i+1)
	}
	e.add(diag.Errorf("Unsupported attribute", "%s has no attribute %q that can be referred to.%s", strings.TrimSuffix(joinName(b.owner, b.path, ""), "."), name, suggest(name, b.referable())).At(source(ref.SourceRange())))
	return false
}

// referable returns the names that other expressions can use.
func (b *block) referable() []string {
	var names []string
	for _, a := range b.row.Attributes {
		if referable(&a) {
			names = append(names, a.Name)
		}
	}
	for _, c := range b.row.Blocks {
		if c.single() {
			names = append(names, c.Name)
		}
	}
	return names
}

// instead returns what to write in the place of a name of another tool, or suggests the nearest
// of the names, or returns "".
func instead(given string, names []string) string {
	if text := elsewhere.Instead(elsewhere.Language, given); text != "" {
		return " " + text
	}
	return suggest(given, names)
}

// suggest returns " Did you mean …?" with the nearest of the names, or "".
func suggest(given string, names []string) string {
	if s := config.Nearest(given, names); s != "" {
		return " Did you mean " + strconv.Quote(s) + "?"
	}
	return ""
}

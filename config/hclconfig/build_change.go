package hclconfig

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

// moves returns the moved blocks.
func (l *loader) moves() []config.Move {
	var out []config.Move
	for _, b := range l.moved {
		from, ok := l.eval.address(b, "from")
		to, also := l.eval.address(b, "to")
		if ok && also {
			out = append(out, config.Move{From: from, To: to, Source: source(b.at), ToSource: source(b.template.attrs["to"].Expr.Range())})
		}
	}
	return out
}

// removals returns the removed blocks.
func (l *loader) removals() []config.Removal {
	var out []config.Removal
	for _, b := range l.removed {
		if from, ok := l.eval.address(b, "from"); ok {
			lifecycle := l.eval.one(b, "lifecycle")
			out = append(out, config.Removal{
				From: from, Unreachable: l.eval.boolean(b, "unreachable"), AllowDestroy: l.eval.allowsDestroy(lifecycle),
				Destroy: l.eval.boolean(lifecycle, "destroy"), Source: source(b.at),
			})
		}
	}
	return out
}

// imports returns the import blocks.
func (l *loader) imports() []config.Import {
	var out []config.Import
	for _, b := range l.imported {
		if to, ok := l.eval.address(b, "to"); ok {
			out = append(out, config.Import{
				To: to, ID: l.eval.str(b, "id"), Source: source(b.at), Connection: l.connection(absent(connectionBlock, "connection", "")),
				Unwritten: l.options.Generate && to.Type == state.TypeCluster && l.eval.clusters[to.Name] == nil,
			})
		}
	}
	return out
}

// address returns an attribute that names a cluster or node, which need not exist.
func (e *evaluator) address(b *block, name string) (state.Target, bool) {
	a := b.template.attrs[name]
	if a == nil {
		return state.Target{}, false // reported as missing
	}
	ref, diags := hcl.AbsTraversalForExpr(a.Expr)
	if !diags.HasErrors() {
		if t, ok := addressed(ref); ok {
			return t, true
		}
	}
	hint := ""
	if !diags.HasErrors() {
		hint = suggest(ref.RootName(), []string{"cluster", "node"})
	}
	e.errorAt(a.Expr.Range(), "Invalid address", "An address is written cluster.NAME, node.NAME or node.NAME[\"KEY\"], without quotes around it and with a constant key.%s", hint)
	return state.Target{}, false
}

// addressed returns the target that a traversal names.
func addressed(ref hcl.Traversal) (state.Target, bool) {
	if len(ref) < 2 || len(ref) > 3 {
		return state.Target{}, false
	}
	name, ok := ref[1].(hcl.TraverseAttr)
	switch {
	case !ok:
	case ref.RootName() == state.TypeCluster && len(ref) == 2:
		return state.ClusterTarget(name.Name), true
	case ref.RootName() == state.TypeNode && len(ref) == 2:
		return state.NodeTarget(name.Name), true
	case ref.RootName() == state.TypeNode:
		if _, index := ref[2].(hcl.TraverseIndex); index {
			if key, ok := stepName(ref, 2); ok {
				return state.NodeKeyTarget(name.Name, key), true
			}
		}
	}
	return state.Target{}, false
}

// lifecycle returns the lifecycle block. It also evaluates its preconditions.
func (e *evaluator) lifecycle(of *block, about fmt.Stringer) config.Lifecycle {
	b := e.one(of, "lifecycle")
	out := config.Lifecycle{PreventDestroy: e.boolean(b, "prevent_destroy"), AllowDestroy: e.allowsDestroy(b)}
	if b.written {
		out.Source = source(b.at)
	}
	if a := b.template.attrs["ignore_changes"]; a != nil {
		out.IgnoreChanges = e.ignored(a)
	}
	for _, c := range e.all(b, "precondition") {
		e.condition(c, func(text string) *diag.Diagnostic {
			return diag.Errorf("Precondition failed", "%s", text).For(about)
		})
	}
	return out
}

// allowsDestroy reports whether a lifecycle block says prevent_destroy = false. An absent
// attribute is different: then the recorded protection stays in effect.
func (e *evaluator) allowsDestroy(b *block) bool {
	v, ok := e.get(b, "prevent_destroy")
	return ok && b.template.attrs["prevent_destroy"] != nil && v.False()
}

// ignored reads the list of ignore_changes: paths, quoted or not.
func (e *evaluator) ignored(a *hcl.Attribute) []config.Ignored {
	entries, diags := hcl.ExprList(a.Expr)
	if diags.HasErrors() {
		e.errorAt(a.Expr.Range(), "Invalid list of paths", "ignore_changes is a list that is written out, as in [labels, kubelet.config.maxPods].")
		return nil
	}
	var out []config.Ignored
	for _, x := range entries {
		path, ok := e.pathOf(x)
		if !ok {
			e.errorAt(x.Range(), "Invalid path", "An entry is the path of an attribute of this block, as in labels[\"pool\"] or kubelet.config.maxPods.")
			continue
		}
		out = append(out, config.Ignored{Path: path, Source: source(x.Range())})
	}
	return out
}

// pathOf returns the path of an expression: a traversal, or a string with one.
func (e *evaluator) pathOf(x hcl.Expression) ([]string, bool) {
	ref, diags := hcl.AbsTraversalForExpr(x)
	if diags.HasErrors() {
		v, bad := e.meter.value(x, nil)
		if bad.HasErrors() || v.Type() != cty.String || v.IsNull() {
			return nil, false
		}
		ref, diags = hclsyntax.ParseTraversalAbs([]byte(v.AsString()), x.Range().Filename, hcl.InitialPos)
		if diags.HasErrors() {
			return nil, false
		}
	}
	path := []string{ref.RootName()}
	for i := 1; i < len(ref); i++ {
		name, ok := stepName(ref, i)
		if !ok {
			return nil, false
		}
		path = append(path, name)
	}
	return path, true
}

// checks evaluates the conditions of check blocks.
func (l *loader) checks() {
	for _, b := range l.checked {
		asserts := l.eval.all(b, "assert")
		if len(asserts) == 0 {
			l.eval.errorAt(b.at, "Check without condition", "A check block holds assert blocks, each with a condition and an error_message.")
		}
		for _, c := range asserts {
			l.eval.condition(c, func(text string) *diag.Diagnostic {
				return diag.Warningf("Check failed", "check %q: %s", b.label, text)
			})
		}
	}
}

// condition reports a block whose condition is false.
func (e *evaluator) condition(b *block, finding func(text string) *diag.Diagnostic) {
	text, broken := e.broken(b)
	if !broken || e.unconditional {
		return
	}
	t := b.attrs["condition"]
	d := finding(text).At(source(t.expr.Range())).In(source(b.at))
	ctx, _ := e.context(t.expr.Variables(), t.scope)
	d.Values = describeVariables(t.expr, ctx)
	e.add(d)
}

// broken evaluates a block's condition; if it is false, it returns the message to report. A
// condition that is known only after an apply is not broken.
func (e *evaluator) broken(b *block) (text string, broken bool) {
	ok, known := e.get(b, "condition")
	message, said := e.get(b, "error_message")
	if !known || ok.True() {
		return "", false
	}
	text = "The condition is false."
	if said {
		text = message.AsString()
	}
	if _, marks := e.force(b.attrs["error_message"]).UnmarkDeep(); marks.Has(sensitive) {
		text = "The condition is false. Its message is made of a sensitive value and not shown."
	}
	return text, true
}

// sortChanges orders blocks without a label by their positions.
func sortChanges(blocks []*block) {
	slices.SortFunc(blocks, func(a, b *block) int {
		if c := strings.Compare(a.at.Filename, b.at.Filename); c != 0 {
			return c
		}
		return a.at.Start.Byte - b.at.Start.Byte
	})
}

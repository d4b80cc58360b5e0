package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"slices"
	"strings"
	"testing"
)

// A model is made once and read afterwards. writes finds what assigns to its types: to their fields,
// and through them to maps, lists and pointers, also where a variable, parameter or result leads
// there. It does not know through which interfaces and function values they go.
type writes struct {
	set *token.FileSet
	// model are the struct types whose fields are assigned once.
	model map[*types.TypeName]bool
	// cache is the type of what is kept once it is computed; nil if there is none.
	cache types.Type
	// constructors are the functions that may assign to a value that they return.
	constructors func(pkg *checkedPackage, name string) bool
	packages     []*checkedPackage
	// inside are variables that refer to something inside a model, and functions that return it.
	inside map[types.Object]bool
	grown  bool
	found  map[string][]string
}

// modelOf returns the types of a package that a struct type holds, itself included.
func modelOf(root types.Type, pkg *types.Package, except ...string) map[*types.TypeName]bool {
	out, seen := map[*types.TypeName]bool{}, map[types.Type]bool{}
	var walk func(t types.Type)
	walk = func(t types.Type) {
		if seen[t] {
			return
		}
		seen[t] = true
		switch t := t.(type) {
		case *types.Named:
			if t.Obj().Pkg() != pkg || slices.Contains(except, t.Obj().Name()) {
				return
			}
			if s, ok := t.Underlying().(*types.Struct); ok {
				out[t.Obj()] = true
				walk(s)
			} else {
				walk(t.Underlying())
			}
		case *types.Struct:
			for f := range t.Fields() {
				walk(f.Type())
			}
		case *types.Pointer:
			walk(t.Elem())
		case *types.Slice:
			walk(t.Elem())
		case *types.Array:
			walk(t.Elem())
		case *types.Map:
			walk(t.Key())
			walk(t.Elem())
		}
	}
	walk(root)
	return out
}

// run finds all writes of the packages.
func (w *writes) run() {
	w.inside, w.found = map[types.Object]bool{}, map[string][]string{}
	var functions []*function
	for _, p := range w.packages {
		for _, file := range p.Files {
			for _, d := range file.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
					functions = append(functions, &function{writes: w, pkg: p, decl: fn, nodes: nodesOf(fn)})
				}
			}
		}
	}
	for w.grown = true; w.grown; {
		w.grown = false
		for _, f := range functions {
			for _, n := range f.nodes {
				f.flow(n)
			}
		}
	}
	for _, f := range functions {
		f.findMade()
		for _, n := range f.nodes {
			f.check(n)
		}
	}
}

// nodesOf returns the statements and expressions of a function that can pass a value on, or write.
func nodesOf(fn *ast.FuncDecl) []ast.Node {
	var out []ast.Node
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.AssignStmt, *ast.ValueSpec, *ast.RangeStmt, *ast.ReturnStmt, *ast.CallExpr, *ast.IncDecStmt, *ast.UnaryExpr:
			out = append(out, n)
		}
		return true
	})
	return out
}

// function is a function in which writes are sought.
type function struct {
	*writes
	pkg  *checkedPackage
	decl *ast.FuncDecl
	// nodes are what can pass a value on, or write.
	nodes []ast.Node
	// made are variables with a value that the function itself composes.
	made map[types.Object]bool
	// fresh are the fields of local structs to which the function assigns something that it has made.
	fresh map[freshField]bool
}

// freshField is a field of the struct in a variable.
type freshField struct {
	of    types.Object
	field string
}

func (f *function) name() string {
	name := f.decl.Name.Name
	if f.decl.Recv != nil {
		name = receiver(f.decl.Recv.List[0].Type) + "." + name
	}
	return f.pkg.Path + "." + name
}

// object returns what an identifier refers to; nil for other expressions.
func (f *function) object(e ast.Expr) types.Object {
	id, ok := ast.Unparen(e).(*ast.Ident)
	if !ok {
		return nil
	}
	if o := f.pkg.Info.Defs[id]; o != nil {
		return o
	}
	return f.pkg.Info.Uses[id]
}

func (f *function) mark(o types.Object) {
	if o != nil && !f.inside[o] {
		f.inside[o], f.grown = true, true
	}
}

// refers reports whether a value of the type shares memory with where it comes from.
func refers(t types.Type) bool {
	if t == nil {
		return false
	}
	switch t.Underlying().(type) {
	case *types.Pointer, *types.Map, *types.Slice:
		return true
	}
	return false
}

// flow marks the variables, parameters and results that refer to something inside a model.
func (f *function) flow(n ast.Node) {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if len(n.Lhs) == len(n.Rhs) {
			for i := range n.Lhs {
				f.pass(f.object(n.Lhs[i]), n.Rhs[i])
			}
		}
	case *ast.ValueSpec:
		for i := range n.Values {
			if len(n.Names) == len(n.Values) {
				f.pass(f.object(n.Names[i]), n.Values[i])
			}
		}
	case *ast.RangeStmt:
		if n.Value != nil && f.shared(n.X) {
			if o := f.object(n.Value); o != nil && refers(o.Type()) {
				f.mark(o)
			}
		}
	case *ast.ReturnStmt:
		if fn := f.pkg.Info.Defs[f.decl.Name]; len(n.Results) == 1 && fn.Type().(*types.Signature).Results().Len() == 1 {
			f.pass(fn, n.Results[0])
		}
	case *ast.CallExpr:
		f.arguments(n)
	}
}

// pass marks an object that is assigned an expression.
func (f *function) pass(o types.Object, e ast.Expr) {
	if o != nil && refers(f.pkg.Info.TypeOf(e)) && f.shared(e) {
		f.mark(o)
	}
}

// arguments marks the parameters of a called function of the project.
func (f *function) arguments(call *ast.CallExpr) {
	fn := f.callee(call)
	if fn == nil || fn.Pkg() == nil || !strings.HasPrefix(fn.Pkg().Path()+"/", module) {
		return
	}
	sig := fn.Type().(*types.Signature)
	if s, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok && sig.Recv() != nil {
		if refers(sig.Recv().Type()) && f.within(s.X) {
			f.mark(sig.Recv())
		}
	}
	for i, a := range call.Args {
		if i < sig.Params().Len() && (!sig.Variadic() || i < sig.Params().Len()-1 || call.Ellipsis.IsValid()) {
			f.pass(sig.Params().At(i), a)
		}
	}
}

// callee returns the function that is called; nil if it is not known by name.
func (f *function) callee(call *ast.CallExpr) *types.Func {
	fun := ast.Unparen(call.Fun)
	switch x := fun.(type) {
	case *ast.IndexExpr:
		fun = x.X
	case *ast.IndexListExpr:
		fun = x.X
	}
	var id *ast.Ident
	switch x := fun.(type) {
	case *ast.Ident:
		id = x
	case *ast.SelectorExpr:
		id = x.Sel
	default:
		return nil
	}
	fn, _ := f.pkg.Info.Uses[id].(*types.Func)
	if fn != nil {
		return fn.Origin()
	}
	return nil
}

// shared reports whether the value of an expression is a reference to something inside a model.
func (f *function) shared(e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.CallExpr:
		if id, ok := ast.Unparen(e.Fun).(*ast.Ident); ok && id.Name == "append" && len(e.Args) > 0 {
			return f.shared(e.Args[0])
		}
		fn := f.callee(e)
		return fn != nil && f.inside[fn]
	case *ast.UnaryExpr:
		return e.Op == token.AND && f.within(e.X)
	case *ast.SliceExpr:
		return f.shared(e.X)
	default:
		return f.within(e)
	}
}

// within reports whether an operand lies inside a model.
func (f *function) within(e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return f.inside[f.object(e)]
	case *ast.SelectorExpr:
		if p, ok := f.pkg.Info.TypeOf(e).(*types.Pointer); ok && f.cache != nil && types.Identical(p.Elem(), f.cache) {
			return false
		}
		return f.field(e) != "" || f.within(e.X)
	case *ast.IndexExpr:
		return f.within(e.X)
	case *ast.StarExpr:
		return f.within(e.X)
	case *ast.CallExpr:
		return f.shared(e)
	}
	return false
}

// field returns the field of a model that a selector selects, directly or through embedded
// structs; empty if it selects none.
func (f *function) field(e *ast.SelectorExpr) string {
	s := f.pkg.Info.Selections[e]
	if s == nil || s.Kind() != types.FieldVal {
		return ""
	}
	t := s.Recv()
	for _, i := range s.Index() {
		if p, ok := t.Underlying().(*types.Pointer); ok {
			t = p.Elem()
		}
		st, ok := t.Underlying().(*types.Struct)
		if !ok {
			return ""
		}
		if named, ok := types.Unalias(t).(*types.Named); ok && f.model[named.Obj()] {
			return named.Obj().Name() + "." + st.Field(i).Name()
		}
		t = st.Field(i).Type()
	}
	return ""
}

// findMade lists the variables that hold a value that this function has composed.
func (f *function) findMade() {
	f.made, f.fresh = map[types.Object]bool{}, map[freshField]bool{}
	value := func(o types.Object, e ast.Expr) {
		e = ast.Unparen(e)
		if u, ok := e.(*ast.UnaryExpr); ok && u.Op == token.AND {
			e = ast.Unparen(u.X)
		}
		if _, ok := e.(*ast.CompositeLit); ok && o != nil {
			f.made[o] = true
		}
	}
	for _, n := range f.nodes {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE && len(n.Lhs) == len(n.Rhs) {
				for i := range n.Lhs {
					value(f.object(n.Lhs[i]), n.Rhs[i])
				}
			}
			for i, e := range n.Lhs {
				if s, ok := e.(*ast.SelectorExpr); ok && len(n.Lhs) == len(n.Rhs) && !f.shared(n.Rhs[i]) {
					f.fresh[freshField{f.owner(s), f.field(s)}] = true
				}
			}
		case *ast.ValueSpec:
			for i, name := range n.Names {
				if i < len(n.Values) {
					value(f.object(name), n.Values[i])
				} else if o := f.object(name); o != nil && !refers(o.Type()) {
					f.made[o] = true
				}
			}
		}
	}
}

// check finds the writes of a statement or an expression.
func (f *function) check(n ast.Node) {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			for _, e := range n.Lhs {
				f.written(e, false)
			}
		}
	case *ast.IncDecStmt:
		f.written(n.X, false)
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			f.written(n.Key, false)
			if n.Value != nil {
				f.written(n.Value, false)
			}
		}
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			if s, ok := ast.Unparen(n.X).(*ast.SelectorExpr); ok && f.field(s) != "" && f.owner(s) == nil {
				f.report(n, "the address of "+types.ExprString(n.X))
			}
		}
	case *ast.CallExpr:
		f.called(n)
	}
}

// changing are functions that change the elements of their first argument.
var changing = map[string][]string{
	"slices": {"Sort", "SortFunc", "SortStableFunc", "Reverse", "Delete", "DeleteFunc", "Compact", "CompactFunc", "Insert", "Replace"},
	"sort":   {"Slice", "SliceStable", "Sort", "Stable", "Strings", "Ints"},
	"maps":   {"Copy", "DeleteFunc", "Insert"},
}

// called finds the writes of builtin functions, of the standard library, and of methods that sort
// or set.
func (f *function) called(call *ast.CallExpr) {
	switch fun := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		if _, builtin := f.pkg.Info.Uses[fun].(*types.Builtin); builtin && slices.Contains([]string{"delete", "clear", "copy"}, fun.Name) {
			f.written(call.Args[0], true)
		}
	case *ast.SelectorExpr:
		if id, ok := fun.X.(*ast.Ident); ok {
			if pkg, ok := f.pkg.Info.Uses[id].(*types.PkgName); ok {
				if slices.Contains(changing[pkg.Imported().Path()], fun.Sel.Name) {
					f.written(call.Args[0], true)
				}
				return
			}
		}
		if fun.Sel.Name == "Sort" || fun.Sel.Name == "Set" {
			f.written(fun.X, true)
		}
	}
}

// written reports a write to an operand, or to the elements to which it refers.
func (f *function) written(e ast.Expr, elements bool) {
	e = ast.Unparen(e)
	if s, ok := e.(*ast.StarExpr); ok && f.isModel(f.pkg.Info.TypeOf(s)) {
		f.report(e, types.ExprString(e))
		return
	}
	s, selects := e.(*ast.SelectorExpr)
	hit := f.within(e) || selects && f.field(s) != ""
	if _, variable := e.(*ast.Ident); variable && !elements {
		return // another value of a variable
	}
	if !hit || f.isMade(e, elements) {
		return
	}
	f.report(e, types.ExprString(e))
}

func (f *function) isModel(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && f.model[named.Obj()]
}

// isMade reports whether a write goes to a field of a value that the function has composed, or, in
// a constructor, to its copy of another one. Elements of a copy belong to the original, unless the
// function has replaced the field that holds them.
func (f *function) isMade(e ast.Expr, elements bool) bool {
	if o := f.root(e); o != nil && f.made[o] && f.depth(e) == 1 {
		return true
	}
	if !f.constructors(f.pkg, f.decl.Name.Name) {
		return false
	}
	if !elements && f.owner(e) != nil {
		return true
	}
	for {
		switch x := ast.Unparen(e).(type) {
		case *ast.IndexExpr:
			e = x.X
		case *ast.SelectorExpr:
			if f.fresh[freshField{f.owner(x), f.field(x)}] && f.owner(x) != nil {
				return true
			}
			e = x.X
		default:
			return false
		}
	}
}

// depth counts the fields of models that an operand selects, one after the other.
func (f *function) depth(e ast.Expr) int {
	switch e := ast.Unparen(e).(type) {
	case *ast.SelectorExpr:
		if f.field(e) != "" {
			return 1 + f.depth(e.X)
		}
		return f.depth(e.X)
	case *ast.IndexExpr:
		return f.depth(e.X)
	case *ast.StarExpr:
		return f.depth(e.X)
	}
	return 0
}

// root returns the variable in which an operand lies, directly or behind references.
func (f *function) root(e ast.Expr) types.Object {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return f.object(e)
	case *ast.SelectorExpr:
		return f.root(e.X)
	case *ast.IndexExpr:
		return f.root(e.X)
	case *ast.StarExpr:
		return f.root(e.X)
	}
	return nil
}

// owner returns the local struct that contains an operand, nil if a reference leads to it.
func (f *function) owner(e ast.Expr) types.Object {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		if o := f.object(e); o != nil && !refers(o.Type()) {
			return o
		}
	case *ast.SelectorExpr:
		s := f.pkg.Info.Selections[e]
		if s == nil || s.Indirect() {
			return nil
		}
		return f.owner(e.X)
	}
	return nil
}

func (f *function) report(at ast.Node, what string) {
	f.found[f.name()] = append(f.found[f.name()], fmt.Sprintf("%s: %s", strings.TrimPrefix(f.set.Position(at.Pos()).String(), "../../"), what))
}

// TestModelIsAssignedOnce checks that a fleet and what it holds is complete when it is made. What is
// kept once it is computed belongs in the cache, which is not part of the model.
func TestModelIsAssignedOnce(t *testing.T) {
	t.Parallel()
	src := source()
	topology := src.Load(t, "planner/topology").Types
	model := modelOf(topology.Scope().Lookup("Fleet").Type(), topology, "cache")
	for _, name := range []string{"Fleet", "Cluster", "Node", "CA", "Upgrade", "CARotation"} {
		if !model[topology.Scope().Lookup(name).(*types.TypeName)] {
			t.Errorf("%s is not found in what a fleet holds", name)
		}
	}
	constructors := func(p *checkedPackage, name string) bool {
		return (p.Path == "planner/topology" || p.Path == "planner/resolve") && (strings.HasPrefix(name, "New") || strings.HasPrefix(name, "With"))
	}
	noWrites(t, &writes{set: src.Set, packages: modelUsers(t, src), model: model, cache: topology.Scope().Lookup("cache").Type(), constructors: constructors})
}

// TestPlanIsAssignedOnce checks that a plan is not changed after it was made: what adds to it
// returns another one. A function may assign to the fields of its own copy.
func TestPlanIsAssignedOnce(t *testing.T) {
	t.Parallel()
	src := source()
	model := map[*types.TypeName]bool{src.Load(t, "planner").Types.Scope().Lookup("Plan").(*types.TypeName): true}
	noWrites(t, &writes{set: src.Set, packages: modelUsers(t, src), model: model, constructors: anywhere})
}

func anywhere(*checkedPackage, string) bool { return true }

// modelUsers returns the packages that can refer to a fleet or a plan. Those that only tests use
// make clusters that do not exist.
func modelUsers(t *testing.T, src *checked) []*checkedPackage {
	t.Helper()
	var out []*checkedPackage
	for _, pkg := range importers(t, "planner") {
		if !strings.HasSuffix(pkg, "test") {
			out = append(out, src.Load(t, pkg))
		}
	}
	return out
}

// noWrites fails for functions that write.
func noWrites(t *testing.T, w *writes) {
	t.Helper()
	w.run()
	for name, found := range w.found {
		t.Errorf("%s assigns to what was made before: make another value with a function With…, or compute it before the value is made\n\t%s", name, strings.Join(found, "\n\t"))
	}
}

// TestWritesAreFound checks the search itself on a program in which each write has a comment.
func TestWritesAreFound(t *testing.T) {
	t.Parallel()
	src := source()
	content, err := os.ReadFile("testdata/writes.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(src.Set, "writes.go", content, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	p := src.Check(t, "sample", file)
	for _, err := range p.Errors {
		t.Error(err)
	}
	w := &writes{
		set: src.Set, packages: []*checkedPackage{p}, model: modelOf(p.Types.Scope().Lookup("Fleet").Type(), p.Types, "cache"), cache: p.Types.Scope().Lookup("cache").Type(),
		constructors: func(_ *checkedPackage, name string) bool { return strings.HasPrefix(name, "With") },
	}
	w.run()
	got := map[int]bool{}
	for _, found := range w.found {
		for _, f := range found {
			var line int
			if _, err := fmt.Sscanf(f, "writes.go:%d:", &line); err != nil {
				t.Fatal(f, err)
			}
			got[line] = true
		}
	}
	for i, line := range strings.Split(string(content), "\n") {
		if want := strings.HasSuffix(line, "// write"); want != got[i+1] {
			t.Errorf("line %d is found: %v, want %v\n%s", i+1, got[i+1], want, line)
		}
	}
}

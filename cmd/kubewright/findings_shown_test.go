package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// untested are the summaries of errors and warnings that no test shows, and why. A summary
// that a test now shows must leave the table.
var untested = map[string]string{}

// exceptions are the tests that list texts as exceptions and do not show them.
var exceptions = []string{"cmd/kubewright/findings_shown_test.go", "cmd/kubewright/sentences_shown_test.go", "cmd/kubewright/internal/cli/error_texts_test.go"}

// TestEveryFindingIsShownByATest checks that a script, a golden file or a unit test shows the
// summary of each error and warning. A finding that no test has shown may be wrong, unclear
// or impossible.
func TestEveryFindingIsShownByATest(t *testing.T) {
	t.Parallel()
	sources, tests := tree(t)
	summaries := map[string]string{}
	for _, files := range sources {
		for summary, place := range summariesOf(t, files) {
			summaries[summary] = place
		}
	}
	if len(summaries) < 100 {
		t.Fatalf("found only %d summaries", len(summaries))
	}
	for summary, place := range summaries {
		shown, excepted := strings.Contains(tests, summary), untested[summary] != ""
		switch {
		case !shown && !excepted:
			t.Errorf("%s: no test shows %q. Reach it in a script below testdata/script, or in a test of its package, with its place, reason and remedy", place, summary)
		case shown && excepted:
			t.Errorf("%s: a test shows %q: take it out of the table of exceptions", place, summary)
		}
	}
	for summary := range untested {
		if summaries[summary] == "" {
			t.Errorf("the code no longer has %q: take it out of the table of exceptions", summary)
		}
	}
}

// tree reads the non-test sources of kubewright by package, and the text of all its tests.
func tree(t *testing.T) (sources map[string][]string, tests string) {
	t.Helper()
	root := filepath.Join("..", "..")
	sources = map[string][]string{}
	var text strings.Builder
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".." || path == filepath.Join(root, "cmd", "lab") || strings.HasSuffix(path, samples)): // no test compares the texts in samples
			return filepath.SkipDir
		case d.IsDir() || slices.ContainsFunc(exceptions, func(name string) bool { return strings.HasSuffix(path, filepath.FromSlash(name)) }):
			return nil
		case strings.HasSuffix(path, "_test.go"), strings.Contains(path, string(filepath.Separator)+"testdata"+string(filepath.Separator)):
			b, err := os.ReadFile(path)
			text.Write(b)
			return err
		case strings.HasSuffix(path, ".go"):
			sources[filepath.Dir(path)] = append(sources[filepath.Dir(path)], path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// Scripts double quotes and use patterns, Go uses escapes.
	return sources, strings.NewReplacer(`''`, `'`, `\?`, `?`, `\.`, `.`, `\"`, `"`).Replace(text.String())
}

// findings are the summaries of one package.
type findings struct {
	t         *testing.T
	set       *token.FileSet
	constants map[string]string
	// takers are the functions with a parameter named summary, and its position.
	takers    map[string]int
	summaries map[string]string
}

// summariesOf returns the constant summaries in the files of a package, and the place of each.
func summariesOf(t *testing.T, files []string) map[string]string {
	t.Helper()
	f := findings{t: t, set: token.NewFileSet(), constants: map[string]string{}, takers: map[string]int{}, summaries: map[string]string{}}
	var parsed []*ast.File
	for _, path := range files {
		file, err := parser.ParseFile(f.set, path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, file)
		ast.Inspect(file, f.learn)
	}
	for _, file := range parsed {
		if !f.speaks(file) {
			continue
		}
		ast.Inspect(file, f.collect)
	}
	return f.summaries
}

// speaks reports whether a file imports the package of findings, or belongs to it.
func (f *findings) speaks(file *ast.File) bool {
	return file.Name.Name == "diag" || file.Name.Name == "config" || slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool {
		return i.Path.Value == strconv.Quote(module+"config/diag") || i.Path.Value == `"github.com/hashicorp/hcl/v2"`
	})
}

// learn records the package's constants, and the functions that take a summary.
func (f *findings) learn(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GenDecl:
		if n.Tok == token.CONST {
			for _, spec := range n.Specs {
				f.constant(spec.(*ast.ValueSpec))
			}
		}
	case *ast.FuncDecl:
		f.taker(n.Name.Name, n.Type)
	case *ast.AssignStmt:
		for i, x := range n.Rhs {
			if lit, ok := x.(*ast.FuncLit); ok && len(n.Lhs) == len(n.Rhs) {
				if name, ok := n.Lhs[i].(*ast.Ident); ok {
					f.taker(name.Name, lit.Type)
				}
			}
		}
	}
	return true
}

func (f *findings) constant(spec *ast.ValueSpec) {
	for i, name := range spec.Names {
		if i < len(spec.Values) && name.Name != "summary" { // local constants are resolved by declared
			if text, ok := literal(spec.Values[i]); ok {
				f.constants[name.Name] = text
			}
		}
	}
}

func (f *findings) taker(name string, fn *ast.FuncType) {
	at := 0
	for _, field := range fn.Params.List {
		for _, p := range field.Names {
			if p.Name == "summary" {
				f.takers[name] = at
			}
			at++
		}
	}
}

// collect records what is given as a summary, in calls and in struct literals.
func (f *findings) collect(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		if at, takes := f.takes(n.Fun); takes && at < len(n.Args) {
			f.summary(n.Args[at])
		}
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && strings.EqualFold(key.Name, "summary") {
			f.summary(n.Value)
		}
	case *ast.AssignStmt:
		for i, x := range n.Lhs {
			if sel, ok := x.(*ast.SelectorExpr); ok && sel.Sel.Name == "Summary" && len(n.Lhs) == len(n.Rhs) {
				f.summary(n.Rhs[i])
			}
		}
	}
	return true
}

// takes returns the position of a function's summary argument.
func (f *findings) takes(fn ast.Expr) (at int, ok bool) {
	switch fn := fn.(type) {
	case *ast.Ident:
		at, ok = f.takers[fn.Name]
	case *ast.SelectorExpr:
		at, ok = f.takers[fn.Sel.Name]
		if x, isName := fn.X.(*ast.Ident); isName && x.Name == "diag" {
			at, ok = map[string]int{"Errorf": 0, "Warningf": 0, "From": 1}[fn.Sel.Name]
		}
	}
	return at, ok
}

// summary records a summary that is a constant. Other expressions are parameters, or messages
// of the hcl library.
func (f *findings) summary(x ast.Expr) {
	text, ok := literal(x)
	if name, isName := x.(*ast.Ident); isName {
		if text, ok = declared(name); !ok {
			text, ok = f.constants[name.Name]
		}
	}
	if ok {
		p := f.set.Position(x.Pos())
		f.summaries[text] = fmt.Sprintf("%s:%d", filepath.ToSlash(p.Filename), p.Line)
	}
}

// declared returns the constant that a name refers to in its file.
func declared(name *ast.Ident) (string, bool) {
	if name.Obj == nil || name.Obj.Kind != ast.Con {
		return "", false
	}
	spec := name.Obj.Decl.(*ast.ValueSpec)
	if i := slices.IndexFunc(spec.Names, func(n *ast.Ident) bool { return n.Name == name.Name }); i < len(spec.Values) {
		return literal(spec.Values[i])
	}
	return "", false
}

func literal(x ast.Expr) (string, bool) {
	lit, ok := x.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}

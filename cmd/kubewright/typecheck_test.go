package main

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// source has the project's packages with the types of their expressions. It is computed once: the
// tests that read it run side by side.
var source = sync.OnceValue(func() *checked {
	c := &checked{Set: token.NewFileSet(), Packages: map[string]*checkedPackage{}, others: map[string]*types.Package{}}
	c.context = build.Default
	c.context.CgoEnabled = false
	if root, err := exec.Command("go", "env", "GOROOT").Output(); err == nil { // with -trimpath the program does not know it
		c.context.GOROOT = strings.TrimSpace(string(root))
	}
	return c
})

// checked type-checks packages from source. Packages of other modules, and most of the standard
// library, are empty: an expression of their types has none, and the errors about it are ignored.
type checked struct {
	lock     sync.Mutex
	Set      *token.FileSet
	Packages map[string]*checkedPackage
	others   map[string]*types.Package
	context  build.Context
}

// checkedPackage is a package of the project: its path in the module, its files and types.
type checkedPackage struct {
	Path   string
	Types  *types.Package
	Files  []*ast.File
	Info   *types.Info
	Errors []error
}

// Load checks a package of the project and everything that it imports.
func (c *checked) Load(t testing.TB, path string) *checkedPackage {
	t.Helper()
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.load(t, path)
}

func (c *checked) load(t testing.TB, path string) *checkedPackage {
	t.Helper()
	if p := c.Packages[path]; p != nil {
		return p
	}
	p := c.check(t, path, c.parse(t, filepath.Join("..", "..", filepath.FromSlash(path))))
	c.Packages[path] = p
	return p
}

// Check checks the files of a package that is not one of the project's.
func (c *checked) Check(t testing.TB, path string, files ...*ast.File) *checkedPackage {
	t.Helper()
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.check(t, path, files)
}

// check finds the types in the files of a package.
func (c *checked) check(t testing.TB, path string, files []*ast.File) *checkedPackage {
	t.Helper()
	p := &checkedPackage{Path: path, Files: files, Info: &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{}, Instances: map[*ast.Ident]types.Instance{},
	}}
	conf := types.Config{FakeImportC: true, Importer: importing(func(imp string) *types.Package { return c.importPackage(t, imp) }), Error: func(err error) { p.Errors = append(p.Errors, err) }}
	p.Types, _ = conf.Check(module+path, c.Set, p.Files, p.Info)
	return p
}

func (c *checked) importPackage(t testing.TB, path string) *types.Package {
	if own, ok := strings.CutPrefix(path, module); ok {
		return c.load(t, own).Types
	}
	if path == "unsafe" {
		return types.Unsafe
	}
	if p := c.others[path]; p != nil {
		return p
	}
	dir := filepath.Join(c.context.GOROOT, "src", filepath.FromSlash(path))
	if !slices.Contains(passingOn, path) {
		p := types.NewPackage(path, path[strings.LastIndex(path, "/")+1:])
		p.MarkComplete()
		c.others[path] = p
		return p
	}
	conf := types.Config{FakeImportC: true, IgnoreFuncBodies: true, Importer: importing(func(imp string) *types.Package { return c.importPackage(t, imp) }), Error: func(error) {}}
	p, _ := conf.Check(path, c.Set, c.parse(t, dir), nil)
	c.others[path] = p
	return p
}

// parse reads the files of a package that are compiled on this machine, without tests.
func (c *checked) parse(t testing.TB, dir string) []*ast.File {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []*ast.File
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		if ok, err := c.context.MatchFile(dir, e.Name()); err != nil || !ok {
			continue
		}
		f, err := parser.ParseFile(c.Set, filepath.Join(dir, e.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, f)
	}
	return out
}

// passingOn are packages of the standard library whose functions return what they are given.
var passingOn = []string{"cmp", "errors", "iter", "maps", "slices", "sort", "strings", "sync"}

// importing is a function as an importer.
type importing func(path string) *types.Package

func (f importing) Import(path string) (*types.Package, error) { return f(path), nil }

// importers lists the packages that import a package, directly or through others.
func importers(t *testing.T, of string) []string {
	t.Helper()
	all := packages(t)
	found := map[string]bool{of: true}
	for grown := true; grown; {
		grown = false
		for pkg, imports := range all {
			if !found[pkg] && slices.ContainsFunc(imports, func(i string) bool { return found[strings.TrimPrefix(i, module)] && strings.HasPrefix(i, module) }) {
				found[pkg], grown = true, true
			}
		}
	}
	var out []string
	for pkg := range found {
		out = append(out, pkg)
	}
	slices.Sort(out)
	return out
}

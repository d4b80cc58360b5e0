package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// The budget: a unit beyond it does more than one thing. Lines are counted in non-test files.
const (
	maxFunction = 70
	maxFile     = 600
	maxPackage  = 4000
	maxMethods  = 40
)

// These are packages over the budget with their maximum number of lines, and types with their
// maximum number of methods. Both lists only shrink, except for the rows of config and
// config/hclconfig.
var (
	largePackages = map[string]int{"config": 7018, "config/hclconfig": 10022}
	largeTypes    = map[string]int{"config.checker": 125, "config/hclconfig.evaluator": 88, "config/hclconfig.loader": 45}
)

func TestFunctionsAndFilesKeepTheirSize(t *testing.T) {
	t.Parallel()
	for _, path := range sources(t, filepath.Join("..", "..")) {
		checkSize(t, path)
	}
}

// sources lists the non-test Go files of the project.
func sources(t *testing.T, root string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".." || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			out = append(out, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestPackagesAndTypesKeepTheirSize checks that a package has a subject that a reader can
// grasp, and that a type is one thing.
func TestPackagesAndTypesKeepTheirSize(t *testing.T) {
	t.Parallel()
	lines, methods := measure(t, filepath.Join("..", ".."))
	keepBudget(t, "lines", lines, maxPackage, largePackages)
	keepBudget(t, "methods", methods, maxMethods, largeTypes)
}

// keepBudget fails for what exceeds the budget without a row, or exceeds its row, and for rows
// that are no longer needed.
func keepBudget(t *testing.T, what string, got map[string]int, budget int, allowed map[string]int) {
	t.Helper()
	for name, n := range got {
		switch most, large := allowed[name]; {
		case !large && n > budget:
			t.Errorf("%s has %d %s, more than %d: split it by subject", name, n, what, budget)
		case large && n > most:
			t.Errorf("%s has %d %s, more than the %d that its row allows: it is already too large. Extend a function that is there, or write one without a receiver, or a package", name, n, what, most)
		}
	}
	for name := range allowed {
		if got[name] <= budget {
			t.Errorf("%s has %d %s: its row is no longer needed", name, got[name], what)
		}
	}
}

// measure counts the lines of each package, and the methods of each type as PACKAGE.TYPE.
func measure(t *testing.T, root string) (lines, methods map[string]int) {
	t.Helper()
	lines, methods = map[string]int{}, map[string]int{}
	for _, path := range sources(t, root) {
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			t.Fatal(err)
		}
		dir = filepath.ToSlash(dir)
		lines[dir] += set.Position(f.FileEnd).Line
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil {
				methods[dir+"."+receiver(fn.Recv.List[0].Type)]++
			}
		}
	}
	return lines, methods
}

// receiver returns the name of a method's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

func checkSize(t *testing.T, path string) {
	t.Helper()
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	if n := set.Position(f.End()).Line; n > maxFile {
		t.Errorf("%s has %d lines, more than %d: split the file", path, n, maxFile)
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			if n := set.Position(fn.End()).Line - set.Position(fn.Pos()).Line + 1; n > maxFunction {
				t.Errorf("%s: %s has %d lines, more than %d", path, fn.Name.Name, n, maxFunction)
			}
		}
	}
}

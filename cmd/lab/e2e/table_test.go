package e2e

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestTable checks, without hosts, that each test begins with begin, and is in its table.
func TestTable(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	names, rows := map[string]bool{}, map[string]bool{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				maps.Copy(rows, keys(d, "tests"))
				continue
			}
			if f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") || slices.Contains([]string{"TestMain", "TestConformance", "TestTable"}, f.Name.Name) {
				continue
			}
			names[f.Name.Name] = true
			if call := first(f); call != "begin" {
				t.Errorf("%s begins with %q, not with begin(t)", f.Name.Name, call)
			}
		}
	}
	if !maps.Equal(names, rows) || len(names) == 0 {
		t.Errorf("the tests are %q, the table has %q", slices.Sorted(maps.Keys(names)), slices.Sorted(maps.Keys(rows)))
	}
}

// first returns the function that a function calls first, if its first statement is a call.
func first(f *ast.FuncDecl) string {
	if statement, ok := f.Body.List[0].(*ast.ExprStmt); ok {
		if call, ok := statement.X.(*ast.CallExpr); ok {
			if id, ok := call.Fun.(*ast.Ident); ok {
				return id.Name
			}
		}
	}
	return ""
}

// keys returns the keys of a map that a variable is declared with.
func keys(d ast.Decl, variable string) map[string]bool {
	out := map[string]bool{}
	for _, spec := range d.(*ast.GenDecl).Specs {
		v, ok := spec.(*ast.ValueSpec)
		if !ok || v.Names[0].Name != variable {
			continue
		}
		for _, e := range v.Values[0].(*ast.CompositeLit).Elts {
			if name, err := strconv.Unquote(e.(*ast.KeyValueExpr).Key.(*ast.BasicLit).Value); err == nil {
				out[name] = true
			}
		}
	}
	return out
}

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

// The budget: what is longer does more than one thing.
const (
	maxFunction = 70
	maxFile     = 600
)

func TestFunctionsAndFilesKeepTheirSize(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".." || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			checkSize(t, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func checkSize(t *testing.T, path string) {
	t.Helper()
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	if n := set.Position(f.End()).Line; n > maxFile {
		t.Errorf("%s has %d lines, more than %d: would two files be easier to live in?", path, n, maxFile)
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			if n := set.Position(fn.End()).Line - set.Position(fn.Pos()).Line + 1; n > maxFunction {
				t.Errorf("%s: %s has %d lines, more than %d", path, fn.Name.Name, n, maxFunction)
			}
		}
	}
}

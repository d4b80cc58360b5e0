package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// openers are the functions that open a file by its name, whatever that leads to.
var openers = map[string][]string{
	"os":                            {"Open", "OpenFile", "OpenRoot", "Create", "CreateTemp", "ReadFile", "WriteFile", "Truncate", "Rename", "DirFS", "CopyFS"},
	"io/ioutil":                     {"ReadFile", "WriteFile", "TempFile"},
	"syscall":                       {"Open", "Openat", "Creat", "Rename"},
	"golang.org/x/sys/unix":         {"Open", "Openat", "Creat", "Rename"},
	"github.com/google/renameio/v2": {"NewPendingFile", "TempFile", "WriteFile", "Symlink"},
	"github.com/gofrs/flock":        {"New", "NewRW"},
}

// direct are the places that may open files themselves, and why.
var direct = map[string]string{
	"state/safefile":                     "is what all others use",
	"state/statefile/fsys.go":            "opens a folder to sync it",
	"config/hclconfig/load.go":           "opens the configuration folder, whose files are read through it",
	"providers/performer_artifacts.go":   "opens the folder of artifacts, whose files are read through it",
	"cmd/kubewright/internal/cli/fmt.go": "lists a folder, and opens none of its files",
	"cmd/kubewright/internal/cli/ask.go": "opens the terminal",
}

// TestFilesAreOpenedSafely: package safefile alone opens files of the operator's. Folders
// for tests, and the lab's machines, are of those who run them.
func TestFilesAreOpenedSafely(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for pkg := range packages(t) {
		if strings.HasPrefix(pkg, "cmd/lab") || strings.HasSuffix(pkg, "test") || strings.HasSuffix(pkg, "testserver") {
			continue
		}
		files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(pkg), "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			for _, found := range opened(t, path) {
				name := pkg + "/" + filepath.Base(path)
				used[pkg], used[name] = true, true
				if direct[pkg] == "" && direct[name] == "" {
					t.Errorf("%s: files are opened with package safefile, which follows no link and waits for no pipe", found)
				}
			}
		}
	}
	for name := range direct {
		if !used[name] {
			t.Errorf("%s opens no file itself: take it off the list", name)
		}
	}
}

// opened are the places in a file that use one of the openers.
func opened(t *testing.T, path string) (out []string) {
	t.Helper()
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	functions := map[string][]string{}
	for _, i := range f.Imports {
		from, _ := strconv.Unquote(i.Path.Value)
		name := filepath.Base(strings.TrimSuffix(from, "/v2"))
		if i.Name != nil {
			name = i.Name.Name
		}
		if openers[from] != nil {
			functions[name] = openers[from]
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && slices.Contains(functions[x.Name], s.Sel.Name) {
				out = append(out, set.Position(n.Pos()).String()+": "+x.Name+"."+s.Sel.Name)
			}
		}
		return true
	})
	return out
}

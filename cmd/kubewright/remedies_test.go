package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// spelledOut matches a command or a flag of kubewright in a text.
var spelledOut = regexp.MustCompile(`\bkubewright (?:apply|plan|destroy|import|uncordon|etcd|state|show|validate|doctor|status)\b` +
	`|(?:^|[\s("'=,])-(?:replace|accept-new-host|forget-unreachable|target|exclude|skip-phase|allow-unreachable|allow-older-state|from-backup|force|state|approve|refresh-only|destroy)\b`)

// TestPlannerKnowsNoCommands checks that no text of the planner names a command or a flag of
// kubewright: it has a remedy there, which the command line spells.
func TestPlannerKnowsNoCommands(t *testing.T) {
	t.Parallel()
	files := 0
	for _, path := range sources(t, filepath.Join("..", "..")) {
		if name := filepath.ToSlash(path); !strings.HasPrefix(name, "../../planner/") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		files++
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range commandsIn(file) {
			t.Errorf("%s: %s: put a remedy of config/remedy in its place", set.Position(found.Pos()), found.Value)
		}
	}
	if files < 200 {
		t.Errorf("found only %d files of the planner", files)
	}
}

// commandsIn returns the texts of a file that name a command or a flag, and the places that set the
// detail of a finding without a format, in which no remedy is told from the text of a host.
func commandsIn(file *ast.File) []*ast.BasicLit {
	var out []*ast.BasicLit
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec, *ast.Field:
			return false
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil && spelledOut.MatchString(text) {
				out = append(out, n)
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Detail" {
				out = append(out, &ast.BasicLit{ValuePos: n.Pos(), Kind: token.STRING, Value: "a detail that diag.Errorf does not format"})
			}
		}
		return true
	})
	return out
}

// TestCommandsAreFoundInSource checks how commands are found in a source.
func TestCommandsAreFoundInSource(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]int{
		`"run kubewright apply again"`:                     1,
		`"kubewright etcd restore"`:                        1,
		`"-replace=" + x`:                                  1,
		`"plan without -target, or with (-exclude)"`:       1,
		`"kubewright applies it, and kubewright's plan"`:   0,
		`"systemctl restart kubelet --force, well-target"`: 0,
		`f{Detail: "x"}`:                                   1,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "p.go", "package p\n\nvar _ = "+source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(commandsIn(file)); got != want {
			t.Errorf("%s: found %d, want %d", source, got, want)
		}
	}
}

package cli

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestEveryFlagIsTested checks that each flag of each command is in a command line of a
// script or of a Go test. A flag that several commands share is searched for with each of them,
// for it may be wired up in one and forgotten in another.
func TestEveryFlagIsTested(t *testing.T) {
	t.Parallel()
	root := commandLine()
	given := map[string]bool{}
	for _, args := range slices.Concat(scriptedCommands(t), testedCommands(t, root)) {
		for _, flag := range flagsGiven(root, args) {
			given[flag] = true
		}
	}
	if len(given) < 100 {
		t.Fatalf("only %d flags were found in tests", len(given))
	}
	for _, cmd := range everyCommand(root) {
		flags := cmd.LocalNonPersistentFlags()
		if !cmd.HasParent() {
			flags = cmd.PersistentFlags()
		}
		for _, name := range flagNames(flags) {
			if flag := cmd.CommandPath() + " -" + name; name != "help" && !given[flag] {
				t.Errorf("no test uses %s. Show what it does in a script below testdata/script, or in a test of cmd/kubewright", flag)
			}
		}
	}
}

// flagsGiven returns the flags in the arguments of a command line, each with its command:
// global flags with kubewright itself.
func flagsGiven(root *cobra.Command, args []string) []string {
	cmd, rest, err := root.Find(oneDash(args))
	if err != nil || !cmd.HasParent() {
		return nil
	}
	var out []string
	for _, arg := range rest {
		name, isFlag := strings.CutPrefix(arg, "--")
		name, _, _ = strings.Cut(name, "=")
		switch {
		case !isFlag:
		case root.PersistentFlags().Lookup(name) != nil:
			out = append(out, root.CommandPath()+" -"+name)
		case cmd.Flags().Lookup(name) != nil:
			out = append(out, cmd.CommandPath()+" -"+name)
		}
	}
	return out
}

// scriptedCommands returns the arguments of all command lines in the scripts.
func scriptedCommands(t *testing.T) [][]string {
	t.Helper()
	var out [][]string
	for _, name := range files(t, filepath.Join("testdata", "script", "*.txtar")) {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		script, _, _ := strings.Cut(string(b), "\n-- ")
		for line := range strings.Lines(script) {
			if !strings.HasPrefix(line, "#") {
				out = append(out, commandsIn(line)...)
			}
		}
	}
	return out
}

// testedCommands returns the literals in Go tests that look like the arguments of a command
// line: consecutive words of which one is a command, or one text that begins with one.
func testedCommands(t *testing.T, root *cobra.Command) [][]string {
	t.Helper()
	var out [][]string
	commands := map[string]bool{}
	for _, c := range root.Commands() {
		commands[c.Name()] = true
	}
	for _, name := range files(t, "*_test.go") {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				out = append(out, ends(n.Args, commands)...)
			case *ast.CompositeLit:
				out = append(out, ends(n.Elts, commands)...)
			case *ast.BasicLit:
				if first, rest, _ := strings.Cut(leadingText(n), " "); commands[first] {
					out = append(out, commandsIn("kubewright "+first+" "+rest)...)
				}
			}
			return true
		})
	}
	return out
}

// ends returns the suffixes of a row of words that begin with a command, or with a flag before
// it.
func ends(row []ast.Expr, commands map[string]bool) [][]string {
	var words []string
	var out [][]string
	for _, x := range row {
		words = append(words, leadingText(x))
	}
	for i, word := range words {
		if commands[word] || strings.HasPrefix(word, "-") {
			out = append(out, words[i:])
		}
	}
	return out
}

// leadingText returns the constant beginning of a concatenated text; empty if it is not known.
func leadingText(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(x.Value)
		return text
	case *ast.BinaryExpr:
		return leadingText(x.X)
	}
	return ""
}

// files returns the test files of package main.
func files(t *testing.T, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("..", "..", pattern))
	if err != nil || len(names) == 0 {
		t.Fatalf("no files match %s: %v", pattern, err)
	}
	return names
}

func TestOneOrTwoDashes(t *testing.T) {
	t.Parallel()
	got := oneDash([]string{"-chdir=x", "--state", "y", "-h", "-", "-10m", "plan", "--", "-var"})
	want := []string{"--chdir=x", "--state", "y", "-h", "-", "-10m", "plan", "--", "-var"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

package cli

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// unsaid are errors that no test shows, by words in them, with the occasion of each.
var unsaid = map[string]string{
	"the question was interrupted":                        "the command ends as interrupted, and prints only that",
	"it is neither in the configuration nor in the state": "a step of an unknown node, which no plan has",
	"the node has no address of the type internalip":      "a Node without addresses, which no simulated kubelet makes",
	"cannot read the cluster":                             "a cluster whose objects cannot be read: tested in package adopt",
	"the host holds another cluster than the state":       "a host got another cluster between an apply and this command",
	"cannot ask the external etcd":                        "the connection to a control plane is lost while the external etcd is asked",
	"logged in too late":                                  "the deadline has passed, and only that is printed",
	"cannot tell whether its node remains":                "no control plane answers any more between the beginning of a run and its step",
	"cannot tell which workers are down":                  "as above",
	"the plan is refused":                                 "it only marks findings, which are shown instead",
}

// said are the packages whose errors users read, with the folder whose tests show them: "."
// stands for the scripts, which show the errors of all.
var said = map[string]string{
	".": ".", "cmd/kubewright/internal/flagvalue": ".", "engine": "engine", "engine/hosts": "engine",
	"cmd/kubewright/internal/console": "cmd/kubewright/internal/console", "cmd/kubewright/internal/workspace": "cmd/kubewright/internal/workspace",
	"cmd/kubewright/internal/session": "cmd/kubewright/internal/session", "cmd/kubewright/internal/apply": "cmd/kubewright/internal/apply",
	"cmd/kubewright/internal/adoption": "cmd/kubewright/internal/adoption", "cmd/kubewright/internal/access": "cmd/kubewright/internal/access",
	"providers/ssh": "providers", "providers/shell": "providers",
	"state/encryption": "state", "state/backend": "state", "state/backend/http": "state", "state/backend/s3": "state",
	"state/backend/kubernetes": "state", "state/backend/pg": "state",
}

// inRepository returns the path of a folder of this repository.
func inRepository(folder string) string {
	if folder == "." {
		return "."
	}
	return filepath.Join("..", "..", "..", "..", folder)
}

// TestEveryErrorTextIsTested checks that a test shows each error of these packages, beside
// the findings with a summary: a few consecutive words of the longest constant part of each.
func TestEveryErrorTextIsTested(t *testing.T) {
	t.Parallel()
	scripts, seen := testTexts(t, filepath.Join("..", "..")), map[string]bool{}
	tests := map[string]string{".": plain(scripts)}
	for folder, by := range said {
		if tests[by] == "" {
			tests[by] = plain(scripts + testTexts(t, inRepository(by)))
		}
		errors := errorTexts(t, folder)
		if least := map[string]int{".": 35, "cmd/kubewright/internal/flagvalue": 5, "providers/ssh": 30, "providers/shell": 28}[folder]; len(errors) < max(least, 3) {
			t.Fatalf("only %d errors were found in %s", len(errors), folder)
		}
		for place, text := range errors {
			excepted := ""
			for words := range unsaid {
				if strings.Contains(text, words) {
					excepted, seen[words] = words, true
				}
			}
			switch shown := shows(tests[by], text); {
			case !shown && excepted == "":
				t.Errorf("%s: no test shows %q. Reach it in a script below testdata/script, or in a test of its package", place, text)
			case shown && excepted != "":
				t.Errorf("%s: a test shows %q: remove it from the table of exceptions", place, text)
			}
		}
	}
	for words := range unsaid {
		if !seen[words] {
			t.Errorf("no error contains %q any more: remove it from the table of exceptions", words)
		}
	}
}

// errorTexts returns the errors of a package by position: the longest constant part of each.
// Errors that only wrap another one, and those that report a defect, are left out.
func errorTexts(t *testing.T, folder string) map[string]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(inRepository(folder), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			text := errorText(n)
			if part := longestPart(text); strings.Count(part, " ") >= 2 && !strings.HasPrefix(text, "internal error") {
				out[fmt.Sprintf("%s:%d", filepath.Join(folder, filepath.Base(name)), set.Position(n.Pos()).Line)] = part
			}
			return true
		})
	}
	return out
}

// errorText returns the text of an expression that makes an error, or that says what is wrong
// or what to do; empty for all others.
func errorText(n ast.Node) string {
	switch n := n.(type) {
	case *ast.CallExpr:
		if len(n.Args) > 0 && makesError(n.Fun) {
			return wholeText(n.Args[0])
		}
	case *ast.KeyValueExpr:
		if isAdvice(n.Key) {
			return wholeText(n.Value)
		}
	case *ast.AssignStmt:
		for i, to := range n.Lhs {
			if sel, ok := to.(*ast.SelectorExpr); ok && isAdvice(sel.Sel) && len(n.Rhs) == len(n.Lhs) {
				return wholeText(n.Rhs[i])
			}
		}
	}
	return ""
}

// isAdvice reports whether a field is a text of state's errors.
func isAdvice(field ast.Expr) bool {
	name, ok := field.(*ast.Ident)
	return ok && (name.Name == "Problem" || name.Name == "Remedy")
}

func makesError(fn ast.Expr) bool {
	sel, ok := fn.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && (x.Name == "fmt" && sel.Sel.Name == "Errorf" || x.Name == "errors" && sel.Sel.Name == "New")
}

// wholeText returns a concatenated constant text, or the format string.
func wholeText(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.CallExpr:
		if sel, ok := x.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Sprintf" && len(x.Args) > 0 {
			return wholeText(x.Args[0])
		}
	case *ast.BasicLit:
		text, _ := strconv.Unquote(x.Value)
		return text
	case *ast.BinaryExpr:
		return wholeText(x.X) + wholeText(x.Y)
	}
	return ""
}

var verb = regexp.MustCompile(`%[+#0-9.]*(\[\d\])?[a-zA-Z]`)

func longestPart(format string) string {
	longest := ""
	for _, part := range verb.Split(format, -1) {
		if part = strings.Trim(part, " .:,;"); len(part) > len(longest) {
			longest = part
		}
	}
	return plain(longest)
}

// plain returns a text without the escapes of scripts, patterns and Go, with single spaces
// between words.
func plain(text string) string {
	text = strings.NewReplacer(`''`, `'`, `\s+`, " ", `\"`, `"`, `\`, "").Replace(text)
	return strings.ToLower(strings.Join(strings.Fields(text), " "))
}

// shows reports whether tests contain four consecutive words of a text, or the whole of a
// shorter one.
func shows(tests, text string) bool {
	words := strings.Fields(text)
	n := min(4, len(words))
	for i := range len(words) - n + 1 {
		if strings.Contains(tests, strings.Join(words[i:i+n], " ")) {
			return true
		}
	}
	return false
}

// testTexts returns the scripts and tests below a folder, except this file.
func testTexts(t *testing.T, below string) string {
	t.Helper()
	var text strings.Builder
	err := filepath.WalkDir(below, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "error_texts_test.go" || !strings.HasSuffix(path, "_test.go") && filepath.Ext(path) != ".txtar" {
			return err
		}
		b, err := os.ReadFile(path)
		text.Write(b)
		text.WriteByte('\n')
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return text.String()
}

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

// unsaid are errors that no test shows, by words of theirs, and when they are said.
var unsaid = map[string]string{
	"the question was interrupted":                        "the command ends as interrupted, and it is that which is said",
	"it is neither in the configuration nor in the state": "a step of a node that nobody knows, which no plan has",
	"the node has no address of the type internalip":      "a Node without addresses, which no kubelet of the simulation makes",
	"cannot read the cluster":                             "a cluster whose objects cannot be read, of which the package adopt has tests",
	"the host holds another cluster than the state":       "another cluster is made on a host between an apply and this command",
	"cannot ask the external etcd":                        "the connection to a control plane is lost while the external etcd is asked",
	"logged in too late":                                  "the deadline has passed, and it is that which is said",
	"cannot tell whether the node is gone":                "no control plane answers any more between the beginning of a run and its step",
	"cannot tell which workers are down":                  "likewise",
	"the plan is refused":                                 "it marks findings, and they are what is shown",
}

// said are the packages whose errors people read, and the folders whose tests show
// them: those of the scripts show everybody's.
var said = map[string]string{
	".": ".", "engine": "engine", "engine/hosts": "engine",
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

// TestEveryErrorIsShownByATest holds that what these packages say in errors, beside
// the findings with a summary, stands in a test: of the longest part of each that is
// always the same a few words in a row.
func TestEveryErrorIsShownByATest(t *testing.T) {
	t.Parallel()
	scripts, seen := testTexts(t, filepath.Join("..", "..")), map[string]bool{}
	tests := map[string]string{".": plain(scripts)}
	for folder, by := range said {
		if tests[by] == "" {
			tests[by] = plain(scripts + testTexts(t, inRepository(by)))
		}
		errors := errorTexts(t, folder)
		if least := map[string]int{".": 40, "providers/ssh": 30, "providers/shell": 28}[folder]; len(errors) < max(least, 3) {
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
				t.Errorf("%s: a test shows %q: take it out of the table of exceptions", place, text)
			}
		}
	}
	for words := range unsaid {
		if !seen[words] {
			t.Errorf("nothing says %q any more: take it out of the table of exceptions", words)
		}
	}
}

// errorTexts returns the errors of a package by where they stand: the longest part of
// each that is always the same. What only passes another error on is left out, and
// what refers to a defect.
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

// errorText returns the text of what makes an error, or says in one what is wrong or what
// to do about it; empty for everything else.
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

// isAdvice tells the fields of the errors of state.
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

// wholeText returns a text that is put together of constants, or what it is formatted with.
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

// plain returns a text without what scripts, patterns and Go write otherwise, its words
// apart by one space.
func plain(text string) string {
	text = strings.NewReplacer(`''`, `'`, `\s+`, " ", `\"`, `"`, `\`, "").Replace(text)
	return strings.ToLower(strings.Join(strings.Fields(text), " "))
}

// shows reports whether four words in a row of a text, or all that it has, are in tests.
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

// testTexts returns the scripts and tests below a folder, but for this one.
func testTexts(t *testing.T, below string) string {
	t.Helper()
	var text strings.Builder
	err := filepath.WalkDir(below, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "said_test.go" || !strings.HasSuffix(path, "_test.go") && filepath.Ext(path) != ".txtar" {
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

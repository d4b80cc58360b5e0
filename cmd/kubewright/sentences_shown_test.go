package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/commandline"
	"github.com/kubewright/kubewright/config/remedy"
)

// detailed are the packages whose sentences must each be shown by a test, with the minimum
// number of sentences found in each. They are the sentences that a user reads in a finding,
// an error, a note of a plan or the description of an operation.
var detailed = map[string]int{
	"config": 450, "config/artifacts": 30, "config/hclconfig": 180, "config/manifest": 4,
	"planner": 50, "planner/quorum": 23, "planner/skew": 12, "planner/adopt": 12, "planner/dag": 3, "planner/executor": 3, "planner/topology": 5, "planner/phases/pki": 95,
	"planner/phases/host": 10, "planner/phases/staticpod": 30, "planner/availability": 15, "planner/phases/kubelet": 12, "planner/phases/objects": 50, "planner/drain": 38,
	"planner/preflight": 150, "planner/observe": 3, "planner/etcd": 114, "planner/immutable": 9, "planner/ownership": 230, "planner/upgrade": 70, "planner/rotation": 125,
	"planner/reset": 8, "planner/pipeline": 75, "planner/maintenance": 70, "planner/record": 36, "planner/kubeadm": 12, "planner/planfile": 6,
	"planner/policy": 4,
	"providers":      60, "providers/bundle": 5, "providers/etcd": 18, "providers/kube": 18, "providers/local": 1, "providers/pki": 18, "providers/sim": 8, "providers/sim/edit": 36, "providers/snapshots": 8,
	"state": 8, "state/backend": 10, "state/statefile": 60,
	"cmd/kubewright/internal/view/ui": 10, "cmd/kubewright/internal/view/diffview": 1, "cmd/kubewright/internal/view/schedule": 3, "cmd/kubewright/internal/view/outline": 35, "cmd/kubewright/internal/view/blocks": 2,
	"cmd/kubewright/internal/view/planview": 70, "cmd/kubewright/internal/view/graph": 5, "cmd/kubewright/internal/view/export": 16, "cmd/kubewright/internal/view/rationale": 17, "cmd/kubewright/internal/view/progress": 1,
	"cmd/kubewright/internal/view/runreport": 24, "cmd/kubewright/internal/view/jsonlines": 5, "cmd/kubewright/internal/view/stateview": 18, "cmd/kubewright/internal/view/listing": 17,
}

// unshown are sentences that no test shows, identified by part of their text, with the reason.
// A sentence that a test now shows, or that the code no longer has, must leave the table.
var unshown = map[string]string{
	"path escapes from parent":          "os.Root's own words, which are looked for and not said",
	"function calls not allowed":        "hcl's own words, which are looked for and not said",
	"configmap endpoints event":         "kinds of the API",
	"controllerrevision daemonset":      "kinds of the API",
	"csidriver csinode storageclass":    "kinds of the API",
	"mutatingwebhookconfiguration":      "kinds of the API",
	"exclude=kubelet kubeadm kubectl":   "the repository's file of dnf, which a host's test reads",
	"settings of your own go into":      "a remark in containerd's configuration",
	"no controller manager has renewed": "half a minute without a controller manager, which no test waits for",
}

// unsaidFields are fields whose texts are not findings, and where they are shown.
var unsaidFields = map[string]string{
	"Doc": "docs/reference/configuration.md, which a test compares",
}

// pages are files without findings: their texts are part of pages that tests compare,
// docs/reference/configuration.md, the JSON schema and docs/reference/preflight.md.
var pages = []string{
	"config/hclconfig/jsonschema.go", "config/hclconfig/reference.go", "config/hclconfig/schema.go", "config/hclconfig/schema_backend.go",
	"config/hclconfig/schema_change.go", "config/hclconfig/schema_cluster.go", "config/hclconfig/schema_cluster_more.go",
	"config/hclconfig/schema_kwtest.go", "config/hclconfig/schema_node.go", "config/hclconfig/schema_root.go",
	"planner/preflight/checks.go",
}

// othersWords are files of simulated hosts that hold messages of a kubelet, an API server,
// etcd or a package manager, worded as the real ones: those are compared with the output of
// real hosts and are not findings. The packages below providers/sim hold only such messages,
// except for the package of edits. Messages about the simulation itself, how it is edited and
// stored, are in the other files.
var othersWords = []string{
	"access", "api", "apply", "audit", "edit/foreign", "etcd", "faults", "host", "issuer", "kubeconfig", "lease", "pods", "snapshot",
}

// TestEverySentenceIsShownByATest checks that a test shows not only the summary of each
// message, which TestEveryFindingIsShownByATest checks, but each of its sentences: where, why,
// and what to do. Four consecutive words of the constant part of the sentence must appear. A
// remedy that no test has shown may not work.
func TestEverySentenceIsShownByATest(t *testing.T) {
	t.Parallel()
	sources, tests := tree(t)
	read := readTests(tests)
	used := map[string]bool{}
	for folder, least := range detailed {
		said := sentencesOf(t, sources[filepath.Join("..", "..", filepath.FromSlash(folder))])
		if len(said) < least {
			t.Errorf("found only %d sentences in %s, want at least %d", len(said), folder, least)
		}
		for _, s := range said {
			excepted := ""
			for words := range unshown {
				if strings.Contains(s.text, words) {
					excepted, used[words] = words, true
				}
			}
			switch shown := read.show(s.text) || s.or != "" && read.show(s.or); {
			case !shown && excepted == "":
				t.Errorf("%s: no test shows %q. Reach it in a script below testdata/script, or in a test of its package, with the whole message", s.place, s.text)
			case shown && excepted != "":
				t.Errorf("%s: a test shows %q: take %q out of the table of exceptions", s.place, s.text, excepted)
			}
		}
	}
	for words := range unshown {
		if !used[words] {
			t.Errorf("the code no longer has %q: take it out of the table of exceptions", words)
		}
	}
}

// sentence is the longest constant part of a sentence, normalised by asRead. A test shows it, or what the
// screen has in its place.
type sentence struct{ place, text, or string }

// sentences are the sentences of one package.
type sentences struct {
	set *token.FileSet
	// remedies are how remedies begin, by their names.
	remedies map[string]sentence
	all      []sentence
}

// sentencesOf returns the sentences in the constants of some files, and the remedies, by place. Parts shorter
// than four words are skipped: the parts next to them identify the sentence.
func sentencesOf(t *testing.T, files []string) []sentence {
	t.Helper()
	s := &sentences{set: token.NewFileSet(), remedies: remedies(t)}
	for _, path := range files {
		name := strings.TrimPrefix(filepath.ToSlash(path), "../../")
		inSim, ofSim := strings.CutPrefix(strings.TrimSuffix(name, ".go"), "providers/sim/")
		if slices.Contains(pages, name) || ofSim && slices.Contains(othersWords, inSim) {
			continue
		}
		file, err := parser.ParseFile(s.set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, s.collect)
	}
	return s.all
}

// collect keeps each text that is concatenated from constants, and descends into the
// operands in between, which may be texts as well.
func (s *sentences) collect(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ImportSpec:
		return false
	case *ast.Field:
		ast.Inspect(n.Type, s.collect)
		return false // and not the tag
	case *ast.KeyValueExpr:
		key, ok := n.Key.(*ast.Ident)
		return !ok || unsaidFields[key.Name] == ""
	case *ast.CallExpr:
		return !isNotPrinted(n.Fun)
	case *ast.SelectorExpr:
		if x, ok := n.X.(*ast.Ident); ok && x.Name == "remedy" && s.remedies[n.Sel.Name].text != "" {
			s.keep(n, s.remedies[n.Sel.Name])
		}
	case *ast.BasicLit:
		s.add(n, s.together(n))
	case *ast.BinaryExpr:
		if n.Op == token.ADD {
			s.add(n, s.together(n))
			return false
		}
	}
	return true
}

// isNotPrinted reports whether a function takes texts that no user reads: defects, patterns,
// and time layouts.
func isNotPrinted(fn ast.Expr) bool {
	if name, ok := fn.(*ast.Ident); ok {
		return name.Name == "panic"
	}
	sel, ok := fn.(*ast.SelectorExpr)
	return ok && (sel.Sel.Name == "MustCompile" || sel.Sel.Name == "Format")
}

// together returns a text that is concatenated from constants and other values, which become %v.
func (s *sentences) together(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.BasicLit:
		text, ok := literal(x)
		if !ok || strings.HasPrefix(x.Value, "`") && strings.Contains(text, "\n") {
			return "" // a script
		}
		return text
	case *ast.BinaryExpr:
		if x.Op == token.ADD {
			return s.together(x.X) + s.together(x.Y)
		}
	}
	ast.Inspect(x, s.collect)
	return "%v"
}

var (
	// anyVerb matches a formatting verb.
	anyVerb = regexp.MustCompile(`%[+#0-9.]*(\[\d\])?[a-zA-Z]`)
	// sentenceEnd matches what separates two sentences, or two clauses.
	sentenceEnd = regexp.MustCompile(`[.:;]\s+|\n+`)
	// continues matches the break within a concatenated Go string.
	continues = regexp.MustCompile(`["` + "`" + `]\s*\+\s*["` + "`" + `]`)
)

func (s *sentences) add(n ast.Node, text string) {
	if strings.HasPrefix(text, "internal error") {
		return
	}
	for _, part := range sentenceEnd.Split(text, -1) {
		longest := ""
		for _, constant := range anyVerb.Split(strings.ReplaceAll(part, "%%", "% "), -1) {
			if constant = asRead(strings.Trim(constant, " .:,;")); len(constant) > len(longest) {
				longest = constant
			}
		}
		if strings.Count(longest, " ") >= 3 {
			s.keep(n, sentence{text: longest})
		}
	}
}

// keep adds what tests have to show, once for each place.
func (s *sentences) keep(n ast.Node, said sentence) {
	p := s.set.Position(n.Pos())
	said.place = filepath.ToSlash(p.Filename) + ":" + strconv.Itoa(p.Line)
	if !slices.Contains(s.all, said) {
		s.all = append(s.all, said)
	}
}

// remedies returns how the remedies of config/remedy begin in a text of the planner, and on the screen, by
// the names of their constants.
func remedies(t *testing.T) map[string]sentence {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", "config", "remedy", "remedy.go"), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]sentence{}
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == 1 {
			kind, typed := v.Type.(*ast.Ident)
			value, literal := v.Values[0].(*ast.BasicLit)
			if !typed || !literal {
				return true
			}
			switch text, _ := strconv.Unquote(value.Value); kind.Name {
			case "Action":
				out[v.Names[0].Name] = sentence{text: "⟨" + text, or: commandline.Line(remedy.Remedy{Action: remedy.Action(text)})}
			case "Kind":
				out[v.Names[0].Name] = sentence{text: "+" + text, or: commandline.Line(remedy.With(remedy.Option{Kind: remedy.Kind(text)}))}
			}
		}
		return true
	})
	if len(out) < 20 {
		t.Errorf("found only %d remedies", len(out))
	}
	return out
}

// unwritten removes what scripts, patterns, Go and the frames of findings add to a text.
var unwritten = strings.NewReplacer(`''`, `'`, `\s+`, " ", `\n`, " ", `\t`, " ", `\"`, `"`, `\`, "", "│", " ")

// asRead returns a text without what scripts, patterns, Go and the frames of findings add
// to it, with single spaces between its words.
func asRead(text string) string {
	text = unwritten.Replace(continues.ReplaceAllString(text, ""))
	return strings.ToLower(strings.Join(strings.Fields(text), " "))
}

// inARow is how many consecutive words of a sentence a test must show.
const inARow = 4

// shownText is what tests show, normalised by asRead, with an index of its word sequences:
// there are some thousand sentences to find in some megabytes of text.
type shownText struct {
	text string
	rows map[string]bool
}

func readTests(tests string) shownText {
	s := shownText{text: asRead(tests), rows: map[string]bool{}}
	starts := []int{0}
	for at, c := range []byte(s.text + " ") {
		if c != ' ' {
			continue
		}
		if n := len(starts); n >= inARow {
			s.rows[s.text[starts[n-inARow]:at]] = true
		}
		starts = append(starts, at+1)
	}
	return s
}

// show reports whether the tests have consecutive words of a sentence. In the tests the first
// and the last word may carry a quote or a comma.
func (s shownText) show(text string) bool {
	words := strings.Fields(text)
	n := min(inARow, len(words))
	var rows []string
	for i := range len(words) - n + 1 {
		rows = append(rows, strings.Join(words[i:i+n], " "))
	}
	return slices.ContainsFunc(rows, func(row string) bool { return s.rows[row] }) ||
		slices.ContainsFunc(rows, func(row string) bool { return strings.Contains(s.text, row) })
}

// TestSentencesAreFoundInSource checks how sentences are found in a source.
func TestSentencesAreFoundInSource(t *testing.T) {
	t.Parallel()
	const source = "package p\n" + `
import "a package with many words"
type s struct { F string ` + "`a tag with many words`" + ` }
var pattern = regexp.MustCompile("a pattern of many words")
func f(x string) error {
	use(remedy.Apply.With(remedy.Replace.Of(x)))
	if x == "" {
		panic("a defect with many words")
	}
	d.Detail += "It is " + g("The name that it has is %q.") + " and nothing else helps. Two words.\nDo this, or that: " + x
	return fmt.Errorf("%s: cannot read the file of %s: %w", x, x, fmt.Errorf("internal error: no such file here"))
}
`
	path := filepath.Join(t.TempDir(), "p.go")
	write(t, path, source)
	var got []string
	for _, s := range sentencesOf(t, []string{path}) {
		got = append(got, s.text)
	}
	want := []string{"⟨apply", "+replace", "the name that it has is", "and nothing else helps", "do this, or that", "cannot read the file of"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", got, want)
	}
	const script = "stderr 'who''s there, \\(if anybody\\)'\n\"a text that \" +\n\t\"goes on\\nin the next line\""
	for _, text := range []string{"who's there, (if anybody)", "that goes on in the next line"} {
		if !readTests(script).show(text) {
			t.Errorf("%q does not stand in %q", text, asRead(script))
		}
	}
	if readTests(script).show("a text that comes") {
		t.Error("four words stand in a text that has three of them")
	}
}

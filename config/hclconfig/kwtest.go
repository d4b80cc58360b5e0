package hclconfig

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

// TestSuffix ends the names of test files.
const TestSuffix = ".kwtest.hcl"

// TestFile is a file of tests.
type TestFile struct {
	// Name is its path in the configuration folder, with slashes.
	Name string
	Runs []*TestRun
	text []byte
}

// TestRun is a run block of a test file.
type TestRun struct {
	Name string
	// Command is plan, apply or destroy.
	Command string
	// Expected are the titles of findings that the command has to report.
	Expected   []string
	ExpectedAt state.Source
	// Asserts reports whether the run has conditions, Hosts whether they refer to hosts, and
	// Disturbs whether it has edits or faults.
	Asserts, Hosts, Disturbs bool
	Source                   state.Source
	file                     *TestFile
}

// isTest reports whether a file holds tests, and no configuration.
func isTest(name string) bool {
	return strings.HasSuffix(name, TestSuffix) || strings.HasSuffix(name, TestSuffix+".json")
}

// TestFiles lists the test files of a configuration folder and of one folder below it, by their
// paths in it.
func TestFiles(o Options, below string) ([]string, error) {
	fsys, closeRoot, err := o.open()
	if err != nil {
		return nil, err
	}
	defer closeRoot()
	var names []string
	for _, dir := range slices.Compact([]string{".", path.Clean(below)}) {
		sub, err := fs.Sub(fsys, dir)
		if err != nil {
			return nil, err
		}
		if _, err := fs.Stat(fsys, dir); err != nil {
			continue
		}
		found, err := (&files{fsys: sub}).listed(TestSuffix)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		for _, name := range found {
			names = append(names, path.Join(dir, name))
		}
	}
	return names, nil
}

// ReadTests reads test files. It reports all mistakes that show without the configuration.
func ReadTests(o Options, names []string) ([]*TestFile, diag.Diagnostics) {
	fsys, closeRoot, err := o.open()
	if err != nil {
		return nil, diag.Diagnostics{diag.Errorf("Cannot read the configuration folder", "%s.", err)}
	}
	defer closeRoot()
	f := &files{fsys: fsys, texts: map[string][]byte{}, answers: map[string]string{}}
	e := &evaluator{seen: map[[2]any]bool{}, text: f.text, cover: f.coverer(o), meter: newMeter(), functions: map[string]function.Function{}}
	var out []*TestFile
	for _, name := range names {
		text, err := f.read(name)
		if err != nil {
			e.add(diag.Errorf("Cannot read file", "%s: %s.", name, err))
			continue
		}
		out = append(out, newTestFile(e, name, text))
	}
	e.diags.Sort()
	return out, e.diags
}

// newTestFile reads a test file.
func newTestFile(e *evaluator, name string, text []byte) *TestFile {
	out := &TestFile{Name: name, text: text}
	t, ok := readTest(e, name, text)
	if !ok {
		return out
	}
	for _, en := range t.entries {
		if en.block.row == testVariablesBlock {
			refuseReferences(e, en.block)
			continue
		}
		out.Runs = append(out.Runs, newTestRun(e, en.block, out))
	}
	if len(out.Runs) == 0 && !e.diags.HasErrors() {
		e.errorAt(t.at, "Test file without runs", "%s has no run block, so that it tests nothing. Write run \"NAME\" { } with assert blocks in it.", name)
	}
	return out
}

// readTest parses a test file.
func readTest(e *evaluator, name string, text []byte) (*template, bool) {
	parsed, diags := parseText(text, name)
	e.report(diags)
	if diags.HasErrors() {
		return nil, false
	}
	e.report(duplicateKeys(parsed.Body))
	return e.read(parsed.Body, testRoot, parsed.Body.MissingItemRange()), true
}

// newTestRun reads a run block.
func newTestRun(e *evaluator, t *template, file *TestFile) *TestRun {
	out := &TestRun{Name: t.label, Command: testCommands[0], Source: source(t.at), file: file}
	if a := t.attrs["command"]; a != nil {
		out.Command = hcl.ExprAsKeyword(a.Expr)
		if !slices.Contains(testCommands, out.Command) {
			e.errorAt(a.Expr.Range(), "Unknown command", "The command of a run is %s, without quotes.%s", orList(testCommands), suggest(out.Command, testCommands))
		}
	}
	if a := t.attrs["expect_findings"]; a != nil && isConstant(e, a) {
		out.Expected = e.strings(bind(t, "run."+t.label, "", nil), "expect_findings")
		out.ExpectedAt = source(a.Expr.Range())
	}
	for _, en := range t.entries {
		switch en.block.row.Name {
		case testVariablesBlock.Name:
			refuseReferences(e, en.block)
		case "assert":
			out.Asserts = true
			out.Hosts = knownNames(e, en.block, namesAfter)["hosts"] || out.Hosts
		default:
			out.Disturbs = true
			knownNames(e, en.block, namesBefore)
		}
	}
	return out
}

// orList joins words: plan, apply or destroy.
func orList(words []string) string {
	n := len(words) - 1
	return strings.Join(words[:n], ", ") + " or " + words[n]
}

// refuseReferences refuses attributes that refer to other values.
func refuseReferences(e *evaluator, t *template) {
	for _, a := range t.attrs {
		isConstant(e, a)
	}
}

// isConstant reports whether an attribute refers to no other value, and refuses it otherwise.
func isConstant(e *evaluator, a *hcl.Attribute) bool {
	refs := a.Expr.Variables()
	if len(refs) > 0 {
		e.errorAt(refs[0].SourceRange(), "Variables not allowed", "%s is a constant: tests are read before the configuration. If this is a text, write it in quotes.", a.Name)
	}
	return len(refs) == 0
}

// knownNames refuses references that begin with another name. It returns the names that references
// begin with.
func knownNames(e *evaluator, t *template, names []string) map[string]bool {
	used := map[string]bool{}
	for _, a := range t.attrs {
		for _, ref := range a.Expr.Variables() {
			name := ref.RootName()
			used[name] = true
			if slices.Contains(names, name) {
				continue
			}
			hint := suggest(name, names)
			if slices.Contains(namesAfter, name) {
				hint = " It is known only after the command, in assert blocks."
			}
			e.errorAt(ref.SourceRange(), "Unknown name", "Nothing is called %s here.%s References begin with %s.", strconv.Quote(name), hint, orList(names))
		}
	}
	return used
}

// testTemplates returns the blocks of a run: the values of variables, those of its file first, and
// the run itself. They are parsed once for each configuration that they are evaluated with.
func testTemplates(e *evaluator, run *TestRun) (variables []*template, own *template) {
	t, _ := readTest(e, run.file.Name, run.file.text)
	for _, en := range t.entries {
		switch {
		case en.block.row == testVariablesBlock:
			variables = slices.Insert(variables, 0, en.block)
		case en.block.label == run.Name:
			own = en.block
			for _, of := range own.entries {
				if of.block.row == testVariablesBlock {
					variables = append(variables, of.block)
				}
			}
		}
	}
	return variables, own
}

// testVariables takes the values that a test gives to variables.
func testVariables(l *loader, out map[string]given) {
	if l.options.Test == nil {
		return
	}
	var blocks []*template
	blocks, l.test = testTemplates(l.eval, l.options.Test)
	for _, t := range blocks {
		for _, a := range sortedAttributes(t.attrs) {
			if l.declared[a.Name] == nil {
				l.eval.errorAt(a.NameRange, "Value for undeclared variable", "The test sets the variable %q, which no variable block declares.%s", a.Name, suggest(a.Name, l.variableNames()))
				continue
			}
			out[a.Name] = given{from: place(a.Range), expr: a.Expr}
		}
	}
}

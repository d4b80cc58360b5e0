package hclconfig

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/hashicorp/hcl/v2"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/hardening"
	"github.com/kubewright/kubewright/state"
)

// Options say what to load.
type Options struct {
	// Dir is the folder. Its files are read through FS.
	Dir string
	// FS is rooted in Dir. Without it Dir is opened so that no symbolic link leads out of it.
	FS fs.FS
	// Vars are the options -var and -var-file in the order of the command line.
	Vars []VarArg
	// Env is the environment as NAME=VALUE.
	Env []string
	// ToolVersion is checked against required_version, unless it is empty.
	ToolVersion string
	// Ask is asked for required variables without a value; without it they are errors.
	Ask func(Missing) (string, error)
	// Destroy reports whether everything is to be destroyed: preconditions are not evaluated.
	Destroy bool
	// Generate reports whether clusters that import blocks refer to need no block: it is going
	// to be written.
	Generate bool
	// Test is the run of a test file that gives values to variables; nil outside of tests.
	Test *TestRun
	// Decrypt decrypts the files of file_age in memory; nil where the command cannot.
	Decrypt func(b []byte) ([]byte, error)
	// ReadFile reads a file of -var-file; nil stands for os.ReadFile.
	ReadFile func(name string) ([]byte, error)
}

// loader is one run of Load.
type loader struct {
	options  Options
	files    *files
	eval     *evaluator
	declared map[string]*variable
	missing  []*variable
	// unread reports whether a file of values could not be read.
	unread  bool
	outputs []*template
	// pending are the inputs of outputs that only an apply can know, once they were needed.
	pending  []*thunk
	backend  *config.Backend
	defaults *block // the top-level connection block
	// defaultOrigins and defaultSensitive belong to its attributes.
	defaultOrigins   map[string]state.Source
	defaultSensitive map[string]bool
	nodes            []*nodeSet
	clusters         []*block
	// moved, removed, imported and checked are the blocks of those names.
	moved, removed, imported, checked []*block
	// policed are the policy blocks, and settings the kubewright block.
	policed  []*block
	settings *block
	// test is the run block of Options.Test.
	test *template
	// incomplete reports whether mistakes kept nodes from being made, or their role or cluster
	// from being known.
	incomplete bool
}

// Load reads, evaluates and checks a configuration. It reports all mistakes at once. The
// configuration is nil if it is too broken to be used.
func Load(o Options) (*config.Config, diag.Diagnostics) {
	l, closeRoot, diags := newLoader(o)
	if diags.HasErrors() {
		return nil, diags
	}
	defer closeRoot()
	c := l.load()
	l.eval.diags.Sort()
	return c, l.eval.diags
}

// newLoader opens the folder. If there are no errors, the caller closes it.
func newLoader(o Options) (*loader, func() error, diag.Diagnostics) {
	fsys, closeRoot, err := o.open()
	if err != nil {
		return nil, nil, diag.Diagnostics{diag.Errorf("Cannot read the configuration folder", "%s.", err)}
	}
	f := &files{fsys: fsys, texts: map[string][]byte{}, named: map[string][]byte{}, answers: map[string]string{}}
	if o.Test != nil {
		f.named[o.Test.file.Name] = o.Test.file.text
	}
	l := &loader{
		options: o, files: f, declared: map[string]*variable{},
		eval: &evaluator{seen: map[[2]any]bool{}, text: f.text, cover: f.coverer(o), unconditional: o.Destroy, meter: newMeter()},
	}
	l.eval.functions = l.functions(l.eval.meter)
	return l, closeRoot, nil
}

// open opens the folder.
func (o Options) open() (fs.FS, func() error, error) {
	if o.FS != nil {
		return o.FS, func() error { return nil }, nil
	}
	root, err := os.OpenRoot(o.Dir)
	if err != nil {
		return nil, nil, err
	}
	return root.FS(), root.Close, nil
}

func (l *loader) load() *config.Config {
	parsed, syntax, diags := l.files.parse()
	l.eval.report(syntax)
	l.eval.add(diags...)
	if len(parsed) == 0 || syntax.HasErrors() || diags.HasErrors() {
		return nil
	}
	l.secretsInText(parsed)
	for _, file := range parsed {
		l.eval.report(duplicateKeys(file.Body))
	}
	merged := hcl.MergeFiles(parsed)
	body := l.eval.read(merged, root, merged.MissingItemRange())
	l.declareAll(body)
	l.assign(l.ask(l.collect()))
	l.reportMissing()
	c := l.build()
	c.Digest, c.Backend = l.digest(), l.backend
	l.secrets(c)
	return c
}

// secrets checks the configuration, and redacts its secrets in all findings: checks quote the
// values that they refuse.
func (l *loader) secrets(c *config.Config) {
	var roots []string
	for _, t := range l.eval.variables {
		roots = append(roots, secretsOf(t.value, false)...)
	}
	roots = append(roots, l.backend.Secrets()...)
	c.Secrets = state.NewRedactor(roots)
	for _, d := range append(c.Validate(), hardening.Check(c)...) {
		if !l.keySeen(d) && !l.eval.followsFrom(d) {
			l.eval.add(d)
		}
	}
	c.Secrets = state.NewRedactor(append(roots, c.SecretTexts()...))
	for _, d := range l.eval.diags {
		d.Summary, d.Detail = c.Secrets.Text(d.Summary), c.Secrets.Text(d.Detail)
	}
}

// keySeen reports whether a finding about a private key repeats one about the text of the
// files: it is one mistake.
func (l *loader) keySeen(d *diag.Diagnostic) bool {
	return d.Summary == keyWritten && slices.ContainsFunc(l.eval.diags, func(seen *diag.Diagnostic) bool {
		s := seen.Subject
		return seen.Summary == keyWritten && s.File == d.Subject.File && d.Subject.Line <= s.Line && s.Line <= d.Subject.EndLine
	})
}

// followsFrom reports whether a finding is about a value that could not be evaluated: that is
// already reported, and the user did not write its substitute.
func (e *evaluator) followsFrom(d *diag.Diagnostic) bool {
	s := d.Subject
	for f := range e.failures {
		if f.File == s.File && f.StartByte <= s.StartByte && s.EndByte <= f.EndByte {
			return true
		}
	}
	return false
}

// declareAll sorts the blocks of the files by type.
func (l *loader) declareAll(body *template) {
	e := l.eval
	e.variables, e.locals = map[string]*thunk{}, map[string]*thunk{}
	e.clusters, e.nodes = map[string]*block{}, map[string]*nodeSet{}
	for _, en := range body.entries {
		t := en.block
		switch t.row {
		case settingsBlock:
			l.settings = bind(t, "kubewright", "", nil)
			l.checkVersion(l.settings)
			l.backend = l.eval.backendOf(t)
		case variableBlock:
			if e.checkName(t) {
				l.declared[t.label] = e.declare(t)
			}
		case localsBlock:
			l.declareLocals(t)
		case outputBlock:
			if e.checkName(t) {
				l.outputs = append(l.outputs, t)
			}
		case connectionBlock:
			l.defaults = bind(t, "connection", "", nil)
		case clusterBlock:
			if e.checkName(t) {
				b := bind(t, "cluster."+t.label, "", nil)
				deriveAccess(e, b)
				l.clusters = append(l.clusters, b)
				e.clusters[t.label] = b
			}
		case movedBlock:
			l.moved = append(l.moved, bind(t, "moved", "", nil))
		case removedBlock:
			l.removed = append(l.removed, bind(t, "removed", "", nil))
		case importBlock:
			l.imported = append(l.imported, bind(t, "import", "", nil))
		case checkBlock:
			if e.checkName(t) {
				l.checked = append(l.checked, bind(t, "check."+t.label, "", nil))
			}
		case policyBlock:
			if e.checkName(t) {
				l.policed = append(l.policed, bind(t, "policy."+t.label, "", nil))
			}
		case nodeBlock:
			if !e.checkName(t) {
				l.incomplete = true
				continue
			}
			set := newNodeSet(t)
			l.nodes = append(l.nodes, set)
			e.nodes[t.label] = set
		}
	}
}

// declareLocals declares the attributes of a locals block.
func (l *loader) declareLocals(t *template) {
	for _, a := range sortedAttributes(t.attrs) {
		if before := l.eval.locals[a.Name]; before != nil {
			l.eval.errorAt(a.NameRange, "Duplicate local value", "A local value named %q was already declared at %s. Names must be unique.", a.Name, place(before.at))
			continue
		}
		l.eval.locals[a.Name] = &thunk{name: "local." + a.Name, expr: a.Expr, at: a.Range}
	}
}

// ask asks for required variables that have no value.
func (l *loader) ask(values map[string]given) map[string]given {
	if l.options.Ask == nil || l.unread {
		return values
	}
	for _, name := range l.variableNames() {
		v := l.declared[name]
		if _, ok := values[name]; ok || v.block.template.attrs["default"] != nil {
			continue
		}
		text, err := l.options.Ask(Missing{Name: name, Description: l.eval.str(v.block, "description"), Sensitive: v.sensitive, Source: source(v.block.at)})
		if err != nil {
			v.unanswered = err
			continue
		}
		values[name] = given{from: "the terminal", text: text}
	}
	return values
}

// reportMissing reports required variables without a value. If a file of values could not be
// read, it is unknown which those are.
func (l *loader) reportMissing() {
	if l.unread {
		return
	}
	for _, v := range l.missing {
		why := "no value was given"
		if v.unanswered != nil {
			why = v.unanswered.Error()
		}
		l.eval.errorAt(v.block.at, "No value for required variable",
			"The variable %q has no default and %s. Set it with -var=\"%s=…\", with -var-file, in kubewright.kwvars, or in the environment as %s%s.", v.name, why, v.name, envPrefix, v.name)
	}
}

// digest covers every file of the folder that was read, every answer about files and every
// variable. It does not depend on the folder's path: a saved plan may be applied in another
// folder.
func (l *loader) digest() string {
	h := sha256.New()
	write := func(parts ...string) {
		for _, p := range parts {
			fmt.Fprintf(h, "%d:", len(p))
			_, _ = io.WriteString(h, p)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.files.texts)) {
		write("file", name, string(l.files.texts[name]))
	}
	for _, question := range slices.Sorted(maps.Keys(l.files.answers)) {
		write("answer", question, l.files.answers[question])
	}
	for _, name := range slices.Sorted(maps.Keys(l.eval.variables)) {
		v, marks := l.eval.variables[name].value.UnmarkDeep()
		if failed(marks) {
			continue
		}
		b, err := ctyjson.Marshal(v, v.Type())
		if err == nil {
			write("variable", name, string(b))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

package pipeline_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/hclconfig"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/ownership"
	"github.com/kubewright/kubewright/planner/phases"
	"github.com/kubewright/kubewright/planner/phases/pki/pkitest"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/planner/record"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/statefile"
	"github.com/rogpeppe/go-internal/txtar"
)

// mechanisms are what testdata/plans has to show besides the phases.
var mechanisms = []string{
	"bootstrap", "worker joins", "control plane joins", "removal", "replacement", "role changes", "upgrade by one minor version", "upgrade by two minor versions", "patch upgrade",
	"rotation of ca", "rotation of front-proxy-ca", "rotation of etcd-ca", "rotation of service-account", "endpoint moves", "encryption on", "encryption key replaced", "encryption off",
	"renewal", "expired CA", "external CA", "drift corrected", "drift recorded", "ignore_changes", "interrupted run continues", "host down withheld", "quorum refusal", "immutable setting refused",
	"availability line", "drain blocked", "rollout by pools", "canary", "checkpoint removed", "destroy", "forget", "adopt", "moved", "backup", "hardening", "target", "skipped phase",
	"cordon", "version refused", "foreign host refused", "lost state refused", "external etcd", "etcd alarm refused", "etcd member lost",
}

// A planCase is a file of testdata/plans. It begins with one to four sentences about what it shows
// and why the plan is so, and a line "covers:" with the phases and mechanisms that it shows. Sections
// follow:
//
//   - before.hcl: the configuration that was applied. Without it the hosts are blank.
//   - files/NAME: files that the configuration had and has, such as files/nodes.hcl.
//     ca.crt and ca.key are there without a section.
//   - edits: what has happened since, one thing a line (planEdit).
//   - main.hcl: what is configured now; without it, before.hcl.
//   - options: the flags of the command, one a line (planOptions).
//   - filter: which parts of the plan are written (planFilter).
//   - plan.json and findings: what the planner says, which UPDATE=1 writes.
type planCase struct {
	name     string
	comment  []byte
	covers   []string
	sections map[string]string
	files    fstest.MapFS
}

// planSections are the sections of a file, in the order in which UPDATE=1 writes them.
var planSections = []string{"before.hcl", "files", "edits", "main.hcl", "options", "filter", "plan.json", "findings"}

// maxPlanLines is how long a recorded plan may be: one that is longer needs a filter, or a smaller
// cluster.
const maxPlanLines = 120

// parsePlanCase parses a file.
func parsePlanCase(name string, b []byte) (*planCase, error) {
	ar := txtar.Parse(b)
	c := &planCase{name: name, sections: map[string]string{}, files: fstest.MapFS{}}
	text, covers, found := strings.Cut(string(ar.Comment), "\ncovers: ")
	c.comment = ar.Comment
	if sentences := len(sentenceEnd.FindAllString(text, -1)); !found || sentences < 1 || sentences > 4 {
		return nil, fmt.Errorf("the comment has %d sentences; write one to four, and a line \"covers:\"", sentences)
	}
	for one := range strings.SplitSeq(covers, ",") {
		c.covers = append(c.covers, strings.Join(strings.Fields(one), " "))
	}
	for _, f := range ar.Files {
		own, isFile := strings.CutPrefix(f.Name, "files/")
		_, twice := c.sections[f.Name]
		switch {
		case twice || c.files[own] != nil:
			return nil, fmt.Errorf("section %q is there twice", f.Name)
		case isFile:
			c.files[own] = &fstest.MapFile{Data: f.Data}
		case slices.Contains(planSections, f.Name) && f.Name != "files":
			c.sections[f.Name] = string(f.Data)
		default:
			return nil, fmt.Errorf("unknown section %q; one of %s, with files/NAME", f.Name, strings.Join(planSections, ", "))
		}
	}
	if c.sections["main.hcl"] == "" && c.sections["before.hcl"] == "" {
		return nil, fmt.Errorf("there is no configuration: neither main.hcl nor before.hcl")
	}
	return c, nil
}

// sentenceEnd matches the end of a sentence.
var sentenceEnd = regexp.MustCompile(`[.!?](\s|$)`)

// write returns the file with what the planner says now.
func (c *planCase) write(plan, findings string) []byte {
	ar := &txtar.Archive{Comment: c.comment}
	c.sections["plan.json"], c.sections["findings"] = plan, findings
	add := func(name, text string) {
		if text != "" {
			ar.Files = append(ar.Files, txtar.File{Name: name, Data: []byte(text)})
		}
	}
	for _, name := range planSections {
		add(name, c.sections[name])
		if name == "files" {
			for _, own := range sortedNames(c.files) {
				add("files/"+own, string(c.files[own].Data))
			}
		}
	}
	return txtar.Format(ar)
}

func sortedNames(files fstest.MapFS) []string {
	var out []string
	for name := range files {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// load loads a configuration of the file.
func (c *planCase) load(t *testing.T, text string) (*config.Config, diag.Diagnostics) {
	folder := fstest.MapFS{"main.hcl": &fstest.MapFile{Data: []byte(text)}}
	for name, f := range c.files {
		folder[name] = f
	}
	ca := exampleCA(t)
	folder["ca.crt"], folder["ca.key"] = &fstest.MapFile{Data: ca.Certificate}, &fstest.MapFile{Data: ca.Key}
	return hclconfig.Load(hclconfig.Options{FS: folder})
}

// before returns an operator who has applied before.hcl. Files with the same before.hcl share one
// cluster, of which each has a copy.
func (c *planCase) before(t *testing.T) *operator {
	t.Helper()
	text := c.sections["before.hcl"]
	if text == "" {
		return newOperator(t, nil)
	}
	key := text
	for _, name := range sortedNames(c.files) {
		key += "\n" + name + "\n" + string(c.files[name].Data)
	}
	once, _ := appliedPlans.LoadOrStore(key, sync.OnceValues(func() (*operator, error) { return c.found(t, text) }))
	first, err := once.(func() (*operator, error))()
	if err != nil {
		t.Fatal(err)
	}
	return first.copy(t)
}

// appliedPlans caches clusters by their configuration.
var appliedPlans sync.Map

// found applies before.hcl on blank hosts, and lets a minute pass.
func (c *planCase) found(t *testing.T, text string) (*operator, error) {
	cfg, diags := c.load(t, text)
	if diags.HasErrors() {
		return nil, fmt.Errorf("before.hcl is refused: %w", diags.Err())
	}
	o := newOperator(t, cfg)
	installKubelets(o)
	if err := o.apply(); err != nil {
		return nil, fmt.Errorf("before.hcl cannot be applied: %w", err)
	}
	o.world.Advance(afterApply)
	p, err := o.plan()
	if err == nil && !p.Empty() {
		err = fmt.Errorf("before.hcl leaves something to do:\n%s", describe(p))
	}
	return o, err
}

// installKubelets installs the cluster's version of the kubelet on hosts that are new.
func installKubelets(o *operator) {
	o.t.Helper()
	for _, n := range o.config.Nodes {
		version := o.config.Cluster(n.Cluster).KubernetesVersion
		if !slices.Contains(o.world.Hosts(), n.Address) && version != sim.DefaultProfile().KubeletVersion {
			o.must(sim.Edit(o.world, n.Address, "install kubelet="+version))
		}
	}
}

// plannedCase is the plan of a file, with the findings about it and about its configuration.
type plannedCase struct {
	plan     *planner.Plan
	findings diag.Diagnostics
}

// run makes the plan of the file.
func (c *planCase) run(t *testing.T) plannedCase {
	t.Helper()
	o := c.before(t)
	options, err := parsePlanOptions(c.sections["options"])
	o.must(err)
	cfg, diags := c.load(t, cmp.Or(c.sections["main.hcl"], c.sections["before.hcl"]))
	if diags.HasErrors() {
		return plannedCase{findings: diags}
	}
	hosts := o.config
	o.config = cfg
	installKubelets(o)
	if edits := planLines(c.sections["edits"]); len(edits) > 0 {
		for _, line := range edits {
			o.must(planEdit{o, hosts, options}.apply(line))
		}
		o.world.Advance(afterApply)
	}
	p := planWith(o, options)
	p.findings = append(diags, p.findings...)
	if p.plan != nil {
		o.must(p.plan.Check())
		if options.unrestricted() {
			o.must(together(p.plan))
			o.must(rolledOut(o.fleet, p.plan))
		}
		o.must(priced(o.fleet, p.plan))
	}
	return p
}

// planWith observes and plans as a command does, and leaves the result with the operator.
func planWith(o *operator, options planOptions) plannedCase {
	o.destroy, o.allowUnreachable, o.replace, o.rotate = options.destroy, options.allowUnreachable, options.replace, options.rotate
	o.accept, o.forget = options.accept, options.forget
	moves, diags := ownership.Moves(o.config, o.recorded)
	if diags.HasErrors() {
		return plannedCase{findings: diags}
	}
	learn := func(l state.Learned) {
		if o.recorded == nil {
			o.recorded = &state.State{FormatVersion: 1, Lineage: lineage, FingerprintKey: "k1"}
		}
		recorded, err := statefile.Fold(o.recorded, []state.Entry{{Kind: state.EntryDone, Lineage: lineage, Learned: l}})
		o.must(err)
		o.recorded = recorded
	}
	if len(moves) > 0 {
		learn(state.Learned{Moved: moves})
	}
	v := o.observe()
	v.RefreshOnly, v.Moved = options.refreshOnly, moves
	if o.recorded != nil {
		v.Key = state.NewKey(o.recorded.FingerprintKey)
	}
	imported, found := record.Imports(v)
	if diags = append(diags, found...); diags.HasErrors() {
		return plannedCase{findings: diags}
	}
	if !imported.IsZero() {
		learn(imported)
		v = v.WithState(o.recorded, imported)
	}
	r, said := pipeline.Plan(v, planner.Plan{}, options.plan)
	out := plannedCase{findings: append(diags, said...)}
	if out.findings.HasErrors() && !pipeline.ForReading(r, said) {
		return out
	}
	o.result, o.fleet, out.plan = r, r.Fleet, r.Plan
	return out
}

// TestPlans makes the plan of each file of testdata/plans, and compares it and the findings with the
// sections plan.json and findings. UPDATE=1 writes them.
func TestPlans(t *testing.T) {
	t.Parallel()
	for _, path := range planFiles(t) {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(path), "testdata/plans/"), ".txtar")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := readPlanCase(t, path)
			filter, err := parsePlanFilter(c.sections["filter"])
			if err != nil {
				t.Fatal(err)
			}
			got := c.run(t)
			plan, findings := filter.print(got.plan), printPlanFindings(got.findings)
			for _, phase := range phases.All() {
				if slices.Contains(c.covers, phase.Name) && !hasPhase(got.plan, phase.Name) {
					t.Errorf("it covers phase %s, and its plan has no step of it", phase.Name)
				}
			}
			if n := strings.Count(plan, "\n"); n > maxPlanLines {
				t.Errorf("the plan has %d lines, and may have %d: filter it", n, maxPlanLines)
			}
			if plan != "" && !json.Valid([]byte(plan)) {
				t.Errorf("the plan is not JSON:\n%s", plan)
			}
			if os.Getenv("UPDATE") != "" {
				if err := os.WriteFile(path, c.write(plan, findings), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			for _, s := range []struct{ section, got string }{{"plan.json", plan}, {"findings", findings}} {
				if want := c.sections[s.section]; s.got != want {
					t.Errorf("%s differs; UPDATE=1 writes it:\n%s", s.section, udiffOf(want, s.got))
				}
			}
		})
	}
}

// hasPhase reports whether a plan has a step of the phase.
func hasPhase(p *planner.Plan, phase string) bool {
	return p != nil && slices.ContainsFunc(p.Steps, func(s planner.Step) bool { return s.Phase == phase })
}

// TestPlansCoverEverything checks that each phase and each mechanism is shown by a file of
// testdata/plans, and that no file shows something that does not exist.
func TestPlansCoverEverything(t *testing.T) {
	t.Parallel()
	shown := map[string][]string{}
	for _, phase := range phases.All() {
		shown[phase.Name] = nil
	}
	for _, m := range mechanisms {
		shown[m] = nil
	}
	for _, path := range planFiles(t) {
		for _, what := range readPlanCase(t, path).covers {
			if _, known := shown[what]; !known {
				t.Errorf("%s covers %q, which is neither a phase nor one of the mechanisms", path, what)
			}
			shown[what] = append(shown[what], path)
		}
	}
	for what, by := range shown {
		if len(by) == 0 {
			t.Errorf("no file of testdata/plans covers %q", what)
		}
	}
}

// planFiles lists the files of testdata/plans, which are in folders by area.
func planFiles(t *testing.T) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(filepath.Join("testdata", "plans"), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || d.IsDir():
			return err
		case filepath.Ext(path) != ".txtar" || strings.Count(filepath.ToSlash(path), "/") != 3:
			return fmt.Errorf("%s is not plans/AREA/NAME.txtar", path)
		}
		out = append(out, path)
		return nil
	})
	if err != nil || len(out) == 0 {
		t.Fatalf("%d files: %v", len(out), err)
	}
	return out
}

// exampleCA returns the CA of configurations with ca.crt and ca.key, which is the same for all files.
func exampleCA(t *testing.T) *pkitest.CA {
	t.Helper()
	plansCA.Do(func() { plansCA.CA = pkitest.NewCA(t, "Example CA", "ECDSA", simulated.Add(-time.Hour)) })
	return plansCA.CA
}

var plansCA struct {
	sync.Once
	*pkitest.CA
}

func readPlanCase(t *testing.T, path string) *planCase {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c, err := parsePlanCase(path, b)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return c
}

// planLines returns the lines of a section without empty ones and comments.
func planLines(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return out
}

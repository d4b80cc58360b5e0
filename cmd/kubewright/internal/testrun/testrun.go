package testrun

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/testview"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/hclconfig"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
)

// Options say how tests are carried out.
type Options struct {
	// Vars are the options -var and -var-file.
	Vars        []hclconfig.VarArg
	Parallelism int
	Display     testview.Display
}

// All carries out test files one after the other. It ends early only if it is interrupted, or if
// something cannot be written.
func All(ctx context.Context, a *workspace.Workspace, tests []*hclconfig.TestFile, o Options) ([]testview.File, error) {
	var out []testview.File
	for _, t := range tests {
		f, err := one(ctx, a, t, o)
		if err != nil {
			return out, err
		}
		out = append(out, f)
	}
	return out, o.Display.Summary(out)
}

// one carries out a test file.
func one(ctx context.Context, a *workspace.Workspace, t *hclconfig.TestFile, o Options) (testview.File, error) {
	out := testview.File{Name: t.Name}
	dir, err := os.MkdirTemp("", "kubewright-test-")
	if err != nil {
		return out, fmt.Errorf("cannot make a temporary folder for the hosts and the state of a test: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := o.Display.Begin(t.Name); err != nil {
		return out, err
	}
	b := &bench{outer: a, options: o, dir: dir}
	for _, run := range t.Runs {
		r := testview.Run{Name: run.Name, Line: run.Source.Line, Status: testview.Skip}
		if !b.failed {
			began := time.Now()
			if r.Status, r.Findings, err = b.carryOut(ctx, run); err != nil {
				return out, err
			}
			r.Took = time.Since(began)
		}
		out.Runs = append(out.Runs, r)
		if err := o.Display.Run(t.Name, r); err != nil {
			return out, err
		}
	}
	return out, o.Display.End(out)
}

// bench is where the runs of one file happen: its hosts and its state.
type bench struct {
	outer   *workspace.Workspace
	options Options
	// dir is a temporary folder.
	dir string
	// world is what the last command, or edit, has opened.
	world *sim.World
	// failed reports whether a command failed unexpectedly: the hosts are not as later runs expect
	// them.
	failed bool
	// faults are those of the current run, in their order.
	faults []planned
	// last is the session of the last command that loaded the configuration and the state.
	last *session.Session
}

// workspace returns the place of a command: the real configuration, and hosts and state of the
// bench. What it prints goes to out.
func (b *bench) workspace(out *bytes.Buffer) *workspace.Workspace {
	env := *b.outer.Env
	env.Stdin, env.Stdout, env.Stderr = strings.NewReader(""), out, out
	env.Interactive, env.Secret, env.Files = false, nil, nil
	env.Size, env.ErrorWidth = func() (int, int) { return 0, 0 }, nil
	env.OpenWorld = func(path string) (w *sim.World, err error) {
		b.world, err = sim.Open(path)
		return b.world, err
	}
	env.Now = b.now
	return &workspace.Workspace{
		Console: &console.Console{Env: &env, NoColor: true, Interrupts: b.outer.Interrupts, Log: b.outer.Log},
		Chdir:   b.outer.Folder(), StatePath: filepath.Join(b.dir, "kubewright.state.json"), Simulated: true,
	}
}

// now returns the time of the simulated hosts, so that a test does not depend on the day.
func (b *bench) now() time.Time {
	if b.world == nil {
		return sim.New(1, sim.DefaultProfile()).Now()
	}
	return b.world.Now()
}

// carryOut carries out a run. An error ends all tests.
func (b *bench) carryOut(ctx context.Context, run *hclconfig.TestRun) (testview.Status, diag.Diagnostics, error) {
	if found, err := b.prepare(run); err != nil || found.HasErrors() {
		b.failed = true
		return testview.Error, found, err
	}
	got, err := b.command(ctx, run)
	if err != nil {
		return testview.Error, nil, err
	}
	unused, err := b.clear()
	if err != nil {
		return testview.Error, nil, err
	}
	unexpected, missing := got.compare(run)
	if len(unexpected) > 0 {
		b.failed = true
		return testview.Error, slices.Concat(missing, unexpected), nil
	}
	broken, wrong, err := b.assert(run, got)
	if err != nil {
		return testview.Error, nil, err
	}
	switch found := slices.Concat(unused, missing, broken, wrong); {
	case len(wrong) > 0:
		return testview.Error, found, nil
	case len(found) > 0:
		return testview.Fail, found, nil
	}
	return testview.Pass, nil, nil
}

// configuration loads the configuration with the variables of a run.
func (b *bench) configuration(run *hclconfig.TestRun) (*hclconfig.Console, diag.Diagnostics) {
	w := b.workspace(&bytes.Buffer{})
	o := hclconfig.Options{
		Dir: w.Folder(), Vars: session.Variables(w, session.Options{Vars: b.options.Vars}), Env: w.Environ, ToolVersion: console.Version,
		Destroy: run.Command == "destroy", Test: run, Decrypt: w.DecryptFile,
	}
	if b.last == nil {
		return hclconfig.NewConsole(o, config.Known{})
	}
	return hclconfig.NewConsole(o, session.Known(b.last.Recorded))
}

// assert evaluates the conditions of a run: those that do not hold, and mistakes in them.
func (b *bench) assert(run *hclconfig.TestRun, got outcome) (broken, wrong diag.Diagnostics, err error) {
	if !run.Asserts {
		return nil, nil, nil
	}
	c, diags := b.configuration(run)
	if diags.HasErrors() {
		return nil, diag.Diagnostics{diag.Errorf("Assertions cannot be evaluated",
			"The configuration of this run is refused, so that there are no values to refer to. Leave the assert blocks out, and name what is reported in expect_findings.").At(run.Source)}, nil
	}
	defer c.Close()
	values := hclconfig.TestValues{Plan: planValue(got.plan, got.findings), Hosts: state.Map(nil), Destroyed: run.Command == "destroy"}
	if run.Hosts {
		w, err := b.open()
		if err != nil {
			return nil, nil, err
		}
		values.Hosts = hostsValue(w, c.Config())
	}
	for _, f := range c.Failures(values) {
		if f.Wrong {
			wrong = append(wrong, f.Finding)
			continue
		}
		for _, o := range f.Operands {
			f.Finding.Values = append(f.Finding.Values, ui.Clean(o.Text)+" is "+clipped(c.Secrets().Text(ui.Inline(o.Value))))
		}
		broken = append(broken, f.Finding)
	}
	return broken, wrong, nil
}

// maxShown limits the text of a value.
const maxShown = 400

func clipped(text string) string {
	if runes := []rune(text); len(runes) > maxShown {
		return string(runes[:maxShown]) + "…"
	}
	return text
}

// interrupted reports whether a command ended because the user asked for it.
func interrupted(ctx context.Context, err error) bool {
	var code console.Exit
	return ctx.Err() != nil || errors.As(err, &code) && code == console.ExitInterrupted
}

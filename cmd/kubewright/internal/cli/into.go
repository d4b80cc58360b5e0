package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/state/safefile"
)

// linesFile is the file of -json-into.
type linesFile struct {
	*os.File
	lines *view.JSONLines
}

// openInto begins to write lines into a file, or a stream. Only its owner may read a
// file: it has the plan, as a saved plan does. A stream may lead to a file of the state or
// the configuration as well.
func (a *workspace) openInto(path string) error {
	if path == "" || a.into != nil {
		return nil
	}
	to := a.named(path)
	asks := "-json-into=" + path
	if err := spared(asks, to, a.folder(), a.paths()); err != nil {
		return err
	}
	if !safefile.IsStream(to) {
		if err := cmp.Or(lines(asks, to), placed(asks, path, to)); err != nil {
			return err
		}
	}
	f, err := safefile.Rewrite(to)
	if err != nil {
		return fmt.Errorf("-json-into=%s: %w", path, bare(err))
	}
	a.into = &linesFile{f, view.NewJSONLines(f, a.Now)}
	a.into.lines.Version(Version)
	return nil
}

// lines is regular for what lines are written into, and that may be a pipe.
func lines(asks, path string) error {
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() == fs.ModeNamedPipe {
		return nil
	}
	return regular(asks, path)
}

func (c *console) closeInto() {
	if c.into != nil {
		_ = c.into.Close()
	}
}

// bothScreens shows everything on two screens.
type bothScreens [2]screen

func (b bothScreens) Diagnostics(list diag.Diagnostics) {
	b[0].Diagnostics(list)
	b[1].Diagnostics(list)
}

func (b bothScreens) Plan(p *planner.Plan, o view.Options) error {
	return errors.Join(b[0].Plan(p, o), b[1].Plan(p, o))
}

func (b bothScreens) Saved(path string, p *planner.Plan) error {
	return errors.Join(b[0].Saved(path, p), b[1].Saved(path, p))
}

func (b bothScreens) Progress(p *planner.Plan, o view.Options) view.Display {
	return view.Both(b[0].Progress(p, o), b[1].Progress(p, o))
}

func (b bothScreens) Complete(p *planner.Plan, o *executor.Outcome) error {
	return errors.Join(b[0].Complete(p, o), b[1].Complete(p, o))
}

func (b bothScreens) Incomplete(p *planner.Plan, o *executor.Outcome) error {
	return errors.Join(b[0].Incomplete(p, o), b[1].Incomplete(p, o))
}

func (b bothScreens) Note(text string) {
	b[0].Note(text)
	b[1].Note(text)
}

func (b bothScreens) NotConverged(p *planner.Plan) error {
	return errors.Join(b[0].NotConverged(p), b[1].NotConverged(p))
}

package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/jsonlines"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/progress"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/state/safefile"
)

// linesFile is the file of -json-into.
type linesFile struct {
	*os.File
	lines *jsonlines.Stream
}

// openInto begins to write lines into a file, or a stream. Only its owner may read a
// file: it has the plan, as a saved plan does. A stream may lead to a file of the state or
// the configuration as well.
func (a *app) openInto(path string) error {
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
	a.into = &linesFile{f, jsonlines.New(f, a.Now)}
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

func (a *app) closeInto() {
	if a.into != nil {
		_ = a.into.Close()
	}
}

// bothScreens shows everything on two screens.
type bothScreens [2]screen

func (b bothScreens) diagnostics(list diag.Diagnostics) {
	b[0].diagnostics(list)
	b[1].diagnostics(list)
}

func (b bothScreens) plan(p *planner.Plan, o ui.Options) error {
	return errors.Join(b[0].plan(p, o), b[1].plan(p, o))
}

func (b bothScreens) saved(path string, p *planner.Plan) error {
	return errors.Join(b[0].saved(path, p), b[1].saved(path, p))
}

func (b bothScreens) progress(p *planner.Plan, o ui.Options) progress.Display {
	return progress.Both(b[0].progress(p, o), b[1].progress(p, o))
}

func (b bothScreens) complete(p *planner.Plan, o *executor.Outcome) error {
	return errors.Join(b[0].complete(p, o), b[1].complete(p, o))
}

func (b bothScreens) incomplete(p *planner.Plan, o *executor.Outcome) error {
	return errors.Join(b[0].incomplete(p, o), b[1].incomplete(p, o))
}

func (b bothScreens) note(text string) {
	b[0].note(text)
	b[1].note(text)
}

func (b bothScreens) notConverged(p *planner.Plan) error {
	return errors.Join(b[0].notConverged(p), b[1].notConverged(p))
}

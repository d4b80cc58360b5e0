package console

import (
	"errors"
	"os"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/jsonlines"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/progress"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/executor"
)

// LinesFile is the file of -json-into.
type LinesFile struct {
	*os.File
	Lines *jsonlines.Stream
}

// CloseInto closes the file of -json-into, if there is one.
func (c *Console) CloseInto() {
	if c.Into != nil {
		_ = c.Into.Close()
	}
}

// bothScreens shows everything on two screens.
type bothScreens [2]screen

func (b bothScreens) Diagnostics(list diag.Diagnostics) {
	b[0].Diagnostics(list)
	b[1].Diagnostics(list)
}

func (b bothScreens) Plan(p *planner.Plan, o ui.Options) error {
	return errors.Join(b[0].Plan(p, o), b[1].Plan(p, o))
}

func (b bothScreens) Saved(path string, p *planner.Plan) error {
	return errors.Join(b[0].Saved(path, p), b[1].Saved(path, p))
}

func (b bothScreens) Progress(p *planner.Plan, o ui.Options) progress.Display {
	return progress.Both(b[0].Progress(p, o), b[1].Progress(p, o))
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

package workspace

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/planfile"
	"github.com/kubewright/kubewright/state"
)

// Named resolves a file name from the command line: relative to the folder of -chdir, as if the
// command ran there.
func (a *Workspace) Named(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(a.Folder(), path)
}

// FromHere resolves a file name from the environment: relative to the folder where the command
// runs, as other programs do.
func (a *Workspace) FromHere(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(a.Dir, path)
}

// ReadPlan reads a saved plan.
func (a *Workspace) ReadPlan(path string) (planfile.File, error) {
	f, err := planfile.Read(a.Named(path), a.Codec())
	if err == nil {
		return f, nil
	}
	remedy := "Create it again with\n\n  kubewright plan -out=" + state.ShellWord(path)
	var refused *state.CodecError
	switch {
	case errors.As(err, &refused) && refused.Kind == state.ErrPlain:
		err = errors.New(refused.Problem)
	case errors.As(err, &refused):
		err, remedy = errors.New(refused.Problem), console.Sentence(refused.Remedy)
	case errors.Is(err, planfile.ErrNoPlan):
		remedy = "A plan is saved with kubewright plan -out=FILE."
	case errors.Is(err, planfile.ErrNewer):
		remedy = "Use that version, or plan again with this one."
	case errors.Is(err, fs.ErrNotExist):
		err = fs.ErrNotExist
	}
	return f, console.Failure(diag.Diagnostics{diag.Errorf("Cannot read the saved plan", "%s: %v. %s", path, console.WithoutPath(err), remedy)})
}

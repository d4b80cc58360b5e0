package workspace

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/logged"
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/safefile"
	"github.com/kubewright/kubewright/state/statefile"
)

// The variables turn the log on, as TF_LOG and TF_LOG_PATH do for Terraform.
const (
	logVariable     = "KUBEWRIGHT_LOG"
	logPathVariable = "KUBEWRIGHT_LOG_PATH"
)

// OpenLog opens the log, if one is asked for. A value that is no level names the log file if it
// contains a path separator; any other value logs everything, with a warning.
func (a *Workspace) OpenLog() (closing func(), err error) {
	closing = func() {}
	level, path := strings.TrimSpace(a.Getenv(logVariable)), a.Getenv(logPathVariable)
	if level == "" || strings.EqualFold(level, "off") {
		return closing, nil
	}
	o := logged.Options{Level: logged.LevelTrace, JSON: strings.EqualFold(level, "json"), Now: a.Now}
	known, ok := logged.Level(level)
	switch {
	case ok:
		o.Level = known
	case o.JSON:
	case filepath.Base(level) != level:
		path, ok = level, true
	}
	var w io.Writer = a.Stderr
	if path != "" {
		f, err := a.openLogFile(path)
		if err != nil {
			return closing, err
		}
		w, closing = f, func() { _ = f.Close() }
	}
	a.Log, a.LogsToScreen = logged.New(w, o), path == ""
	if !ok && !o.JSON {
		a.Log.Warn(logVariable+" is no level, so that everything is logged", "value", level, "levels", append(logged.Levels(), "off", "json"))
	}
	return closing, nil
}

// openLogFile opens a log to append to. Only its owner may read it. The flags are not parsed
// yet, so that it is unknown which state the command uses: the log may overwrite none.
func (a *Workspace) openLogFile(path string) (*os.File, error) {
	if err := CheckNotOurs("The log "+path, a.Named(path), a.Folder(), statefile.DirPaths(a.Folder())); err != nil {
		return nil, err
	}
	f, err := safefile.Append(a.Named(path))
	if err != nil {
		return nil, console.Failure(diag.Diagnostics{diag.Errorf("Log cannot be written", "%s: %v. Nothing was done. Name a file that can be written in %s, or leave %s out.", path, console.WithoutPath(err), logPathVariable, logVariable)})
	}
	return f, nil
}

// newBackend returns a confined backend that logs its requests.
func (a *Workspace) newBackend(b *config.Backend) (backend.Backend, error) {
	place, err := a.confined(b)
	if err != nil {
		return nil, err
	}
	return a.Log.Backend(place), nil
}

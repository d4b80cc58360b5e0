package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/logged"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/safefile"
	"github.com/kubewright/kubewright/state/statefile"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The log is asked for as Terraform's is, with TF_LOG and TF_LOG_PATH.
const (
	logVariable     = "KUBEWRIGHT_LOG"
	logPathVariable = "KUBEWRIGHT_LOG_PATH"
)

// openLog begins the log, if one is asked for. A value that is no level is the file
// to write to when it looks like one; any other logs everything, and says so.
func (a *app) openLog() (closing func(), err error) {
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
	a.log, a.logsToScreen = logged.New(w, o), path == ""
	if !ok && !o.JSON {
		a.log.Warn(logVariable+" is no level, so that everything is logged", "value", level, "levels", append(logged.Levels(), "off", "json"))
	}
	return closing, nil
}

// openLogFile goes on with a log. Only its owner may read it. Flags are not read
// yet: which state is meant, is not known, and none gets a log.
func (a *app) openLogFile(path string) (*os.File, error) {
	if err := spared("The log "+path, a.named(path), a.folder(), statefile.DirPaths(a.folder())); err != nil {
		return nil, err
	}
	f, err := safefile.Append(a.named(path))
	if err != nil {
		return nil, &diagError{diag.Diagnostics{diag.Errorf("Log cannot be written", "%s: %v. Nothing was done. Name a file that can be written in %s, or leave %s out.", path, bare(err), logPathVariable, logVariable)}}
	}
	return f, nil
}

// logBegin tells which command begins. What is given with its flags may be a secret.
func (a *app) logBegin(cmd *cobra.Command) {
	if a.log == nil {
		return
	}
	var flags []string
	cmd.Flags().Visit(func(f *pflag.Flag) { flags = append(flags, "-"+f.Name) })
	a.log.Info("command begins", "command", cmd.CommandPath(), "flags", flags, "folder", a.folder(),
		"version", Version, "platform", runtime.GOOS+"/"+runtime.GOARCH, "who", a.Who, "pid", os.Getpid())
}

// logFindings writes down what is shown to the user.
func (a *app) logFindings(diags diag.Diagnostics) {
	for _, d := range diags {
		write := a.log.Warn
		if d.Severity == diag.Error {
			write = a.log.Error
		}
		write(d.Summary, "detail", d.Detail)
	}
}

// draws reports whether a part of the screen can be redrawn: stdout is a terminal
// that moves its cursor, and no log is written in between.
func (a *app) draws() bool {
	return a.terminal() && a.Getenv("TERM") != "dumb" && !a.logsToScreen
}

// loggedWorld is a world of which the log tells what it is asked.
type loggedWorld struct {
	world
	log *logged.Log
}

func (a *app) logged(w world) world {
	if a.log == nil {
		return w
	}
	return loggedWorld{w, a.log}
}

func (w loggedWorld) open(ctx context.Context, c config.Connection, address string) (providers.Host, error) {
	if c.Host != "" {
		address = c.Host
	}
	return w.log.Open(ui.Clean(address), func() (providers.Host, error) { return w.world.open(ctx, c, address) })
}

func (w loggedWorld) access() providers.Access { return w.log.Access(w.world.access()) }
func (w loggedWorld) clock() providers.Clock   { return w.log.Clock(w.world.clock()) }

// logState tells what a run that writes does to the state's lock.
func (s *session) logState(what string) {
	if s.log != nil && s.runID != "" {
		s.log.Info(what, "state", s.store.Place(), "run", s.runID)
	}
}

// logPlan tells what a plan has come to.
func (s *session) logPlan() {
	if p := s.result.Plan; s.log != nil && p != nil {
		s.log.Info("planned", "hosts", fmt.Sprintf("%d answered, %d did not", len(s.view.Reports), len(s.view.Unobserved)),
			"changes", len(p.Changes), "steps", len(p.Steps))
	}
}

// logLooked tells of the hosts that could not be looked at.
func (s *session) logLooked(v *topology.Fleet) *topology.Fleet {
	for _, m := range s.fleet.members {
		if u, dark := v.Unobserved[m.target]; dark {
			s.log.Warn("host not observed", "node", m.target.String(), "reason", u.Reason)
		}
	}
	return v
}

// newBackend is a.confined of which the log tells what it is asked.
func (a *app) newBackend(b *config.Backend) (backend.Backend, error) {
	place, err := a.confined(b)
	if err != nil {
		return nil, err
	}
	return a.log.Backend(place), nil
}

// events has what an executor reports written down and shown.
func (s *session) events(shown func(executor.Event)) func(executor.Event) {
	if s.log == nil {
		return shown
	}
	return func(e executor.Event) {
		s.log.Event(e)
		shown(e)
	}
}

package workspace

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/hclconfig"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/backend/http"
	"github.com/kubewright/kubewright/state/backend/kubernetes"
	"github.com/kubewright/kubewright/state/backend/pg"
	"github.com/kubewright/kubewright/state/backend/s3"
	"github.com/kubewright/kubewright/state/safefile"
	"github.com/kubewright/kubewright/state/statefile"
)

// Place is a backend as the folder remembers it: where the last command here kept the state. It
// holds no secret.
type Place struct {
	Type string `json:"type"`
	// Place is the backend's String; two backends with the same place are the same.
	Place    string            `json:"place"`
	Settings map[string]string `json:"settings,omitempty"`
	// Backend is nil for the file beside the configuration.
	Backend backend.Backend `json:"-"`
}

// LocalType is the type of the local file, which has no block.
const LocalType = "local"

func (u *Place) String() string { return fmt.Sprintf("%s (backend %q)", u.Place, u.Type) }

// usedPath returns the file in which a folder remembers its backend.
func (a *Workspace) usedPath() string { return filepath.Join(filepath.Dir(a.Paths().State), usedName) }

const usedName = ".kubewright/backend.json"

// maxUsed limits, in bytes, how much is read of that file.
const maxUsed = 1 << 20

// LastPlace returns the place that the folder remembers; nil if the state was only ever in the
// local file.
func (a *Workspace) LastPlace() (*Place, error) {
	b, err := safefile.Read(a.usedPath(), maxUsed)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	u := &Place{}
	if err == nil {
		err = json.Unmarshal(b, u)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read %s, where this folder remembers the place of its state: %w; remove it, and run kubewright init -reconfigure", a.usedPath(), console.WithoutPath(err))
	}
	return u, nil
}

// RememberPlace remembers where the state is. For the file beside the configuration it
// remembers nothing: that file is the default.
func (a *Workspace) RememberPlace(u *Place) error {
	path := a.usedPath()
	if u.Type == LocalType {
		err := safefile.CheckFolder(filepath.Dir(path))
		if err == nil {
			err = os.Remove(path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	b, err := json.MarshalIndent(u, "", "  ")
	if err == nil {
		b = append(b, '\n')
		if old, readErr := safefile.Read(path, maxUsed); readErr == nil && string(old) == string(b) {
			return nil
		}
		err = safefile.MakeFolder(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = safefile.WriteFile(path, b, 0o600)
	}
	if err != nil {
		return fmt.Errorf("cannot write %s, where this folder remembers the place of its state: %w", path, console.WithoutPath(err))
	}
	return nil
}

// ConfiguredPlace returns the backend of a block; nil stands for the local file.
func (a *Workspace) ConfiguredPlace(b *config.Backend) (*Place, error) {
	if a.Simulated {
		b = nil
	}
	if b == nil {
		if len(a.BackendConfig) > 0 {
			return nil, console.Misuse("kubewright", errors.New("-backend-config is about a backend, and the configuration has none: write kubewright { backend \"TYPE\" { } } into it"))
		}
		return &Place{Type: LocalType, Place: a.Paths().State}, nil
	}
	if a.StatePath != "" {
		return nil, console.Misuse("kubewright", fmt.Errorf("-state=%s names a file, and the configuration keeps the state in a backend %q: leave one of them out", a.StatePath, b.Type))
	}
	given := make([]string, len(a.BackendConfig))
	for i, arg := range a.BackendConfig {
		given[i] = arg
		if !strings.Contains(arg, "=") {
			given[i] = a.Named(arg)
		}
	}
	full, diags := hclconfig.CompleteBackend(b, given, a.Getenv)
	if err := a.Report(diags); err != nil {
		return nil, err
	}
	a.Redact(state.NewRedactor(full.Secrets()))
	place, err := a.newBackend(full)
	if err != nil {
		return nil, console.Failure(diag.Diagnostics{diag.Errorf("Backend cannot be used", "%s", console.Sentence(err.Error())).At(b.Source)})
	}
	u := &Place{Type: b.Type, Place: place.String(), Settings: map[string]string{}, Backend: place}
	defaults := hclconfig.BackendDefaults(b.Type)
	for name, value := range full.Settings {
		if !full.Sensitive[name] && value != defaults[name] {
			u.Settings[name] = value
		}
	}
	return u, nil
}

// confined makes the backend of complete settings without contacting anything. It fails if
// credentials from another source would go to a server that only the settings name.
func (a *Workspace) confined(b *config.Backend) (backend.Backend, error) {
	place, err := a.openBackend(b)
	if err != nil {
		return nil, err
	}
	if c, ok := place.(backend.Confining); ok {
		given := backend.Given{From: map[string]backend.Source{}, Sure: b.Sure}
		for name, from := range b.From {
			given.From[name] = backend.Source{By: from.By, File: from.File}
		}
		if err := c.Confined(given); err != nil {
			return nil, err
		}
	}
	if n, ok := place.(backend.Noting); ok {
		n.OnNote(func(n backend.Note) { note(a.Console, n) })
	}
	return place, nil
}

// openBackend makes the backend of complete settings without contacting anything.
func (a *Workspace) openBackend(b *config.Backend) (backend.Backend, error) {
	settings := backend.Settings(b.Settings)
	switch b.Type {
	case "http":
		return http.New(settings)
	case "kubernetes":
		return kubernetes.New(settings, kubernetes.Operator{Folder: a.Folder(), Dir: a.Dir, Getenv: a.Getenv, ConfigPath: giver(b.From["config_path"])})
	case "pg":
		return pg.New(settings)
	case "s3":
		return s3.New(settings)
	}
	panic("internal error: there is no backend " + b.Type)
}

// note prints a backend's note on stderr, since it is not a result of the command.
func note(c *console.Console, n backend.Note) {
	list := diag.Diagnostics{diag.Warningf(n.Title, "%s", n.Text)}
	if c.Lines != nil {
		c.Print(list)
		return
	}
	quiet := *c
	quiet.QuietStdout = true
	quiet.Print(list)
}

// giver returns the source of config_path. A file of -backend-config may come with the
// configuration, and the file in which the folder remembers its backend is one like any other.
func giver(from config.Given) kubernetes.Giver {
	switch {
	case from.File, from.By == "":
		return kubernetes.Configuration
	case strings.HasPrefix(from.By, "-"):
		return kubernetes.CommandLine
	}
	return kubernetes.Environment
}

// Reopen returns the backend that the folder remembers, with its secrets from the environment.
func (a *Workspace) Reopen(u *Place) (*Place, error) {
	if u == nil || u.Type == LocalType {
		return &Place{Type: LocalType, Place: a.Paths().State}, nil
	}
	if types := hclconfig.BackendTypes(); !slices.Contains(types, u.Type) {
		return nil, console.Failure(diag.Diagnostics{diag.Errorf("Unknown backend", "%s, where this folder remembers the place of its state, names a backend %q, and this kubewright has %s. "+
			"Use the version that wrote it. If the state is where the configuration says, remove the file, and run kubewright init -reconfigure.", a.usedPath(), u.Type, console.ListOf(types))})
	}
	full, diags := hclconfig.CompleteBackend(&config.Backend{Type: u.Type, Settings: u.Settings}, nil, a.Getenv)
	if err := a.Report(diags); err != nil {
		return nil, err
	}
	a.Redact(state.NewRedactor(full.Secrets()))
	place, err := a.newBackend(full)
	if err == nil && place.String() != u.Place {
		err = fmt.Errorf("what the environment says now is %s, and the state was kept at %s", place, u.Place)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot open the place where the state was kept before, %s: %w; secrets of it are given in the environment, as KUBEWRIGHT_%s_NAME", u.Place, err, strings.ToUpper(u.Type))
	}
	return &Place{Type: u.Type, Place: u.Place, Settings: u.Settings, Backend: place}, nil
}

// BackendMoved reports whether the configuration names another place than the one last used in
// this folder. A folder that remembers none used the local file, if that exists.
func (a *Workspace) BackendMoved(last, now *Place) bool {
	switch {
	case last != nil:
		return last.Type != now.Type || last.Place != now.Place
	case now.Type == LocalType:
		return false
	}
	for _, path := range []string{a.Paths().State, a.Paths().Journal} {
		if info, err := os.Stat(path); err == nil && info.Size() > 0 {
			return true
		}
	}
	return false
}

// BackendChanged refuses to work with another place than before.
func (a *Workspace) BackendChanged(last, now *Place) error {
	from := cmp.Or(last, &Place{Type: LocalType, Place: a.Paths().State})
	return console.Failure(diag.Diagnostics{diag.Errorf("Backend has changed", "The configuration keeps the state at %s, and the last command here used %s. "+
		"Nothing was read or written. To take the state along:\n\n  kubewright init -migrate-state\n\n"+
		"To use what is at the new place, or to begin there, and leave the other as it is:\n\n  kubewright init -reconfigure", now, from)})
}

// OpenStore returns the state of this run, at the place that the configuration names.
func (a *Workspace) OpenStore(b *config.Backend) (*statefile.Store, error) {
	now, err := a.ConfiguredPlace(b)
	if err != nil {
		return nil, err
	}
	if a.StatePath != "" {
		return statefile.NewStore(a.Paths(), nil), nil // -state names it: the remembered place is another one's
	}
	last, err := a.LastPlace()
	if err != nil {
		return nil, err
	}
	if a.BackendMoved(last, now) {
		return nil, a.BackendChanged(last, now)
	}
	a.Place = now
	return statefile.NewStore(a.Paths(), now.Backend), nil
}

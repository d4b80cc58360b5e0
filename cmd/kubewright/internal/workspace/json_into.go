package workspace

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/jsonlines"
	"github.com/kubewright/kubewright/state/safefile"
)

// OpenInto starts writing JSON lines to a file or a stream. Only the owner may read the file:
// like a saved plan, it holds the plan. A stream may also lead to a file of the state or the
// configuration.
func (a *Workspace) OpenInto(path string) error {
	if path == "" || a.Into != nil {
		return nil
	}
	to := a.Named(path)
	asks := "-json-into=" + path
	if err := CheckNotOurs(asks, to, a.Folder(), a.Paths()); err != nil {
		return err
	}
	if !safefile.IsStream(to) {
		if err := cmp.Or(lines(asks, to), checkFolder(asks, path, to)); err != nil {
			return err
		}
	}
	f, err := safefile.Rewrite(to)
	if err != nil {
		return fmt.Errorf("-json-into=%s: %w", path, console.WithoutPath(err))
	}
	a.Into = &console.LinesFile{File: f, Lines: jsonlines.New(f, a.Now)}
	a.Into.Lines.Version(console.Version)
	return nil
}

// lines is regular for the target of JSON lines, which may be a pipe.
func lines(asks, path string) error {
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() == fs.ModeNamedPipe {
		return nil
	}
	return CheckRegular(asks, path)
}

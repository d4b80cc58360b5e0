// Package formatter writes configuration files in the usual format. The format itself is that of
// config/hclconfig.
package formatter

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	udiff "github.com/aymanbagabas/go-udiff"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/hclconfig"
	"github.com/kubewright/kubewright/state/safefile"
)

// Options are what to do with files that are not formatted.
type Options struct{ Check, Diff, Recursive, Write, List bool }

const exitUnreadable = 2

// Stdin prints stdin in canonical format; with -check nothing, and with -diff the changes.
func Stdin(ctx context.Context, a *workspace.Workspace, o Options) error {
	src, err := a.ReadAll(ctx)
	if err != nil {
		return err
	}
	out, diags := hclconfig.Format("<stdin>", src)
	if diags.HasErrors() {
		a.Print(diags)
		return console.Exit(exitUnreadable)
	}
	changed := !bytes.Equal(src, out)
	switch {
	case o.Diff:
		_, err = io.WriteString(a.Stdout, ui.CleanDiff(udiff.Unified("old/<stdin>", "new/<stdin>", string(src), string(out))))
	case !o.Check:
		_, err = a.Stdout.Write(out)
	}
	if err == nil && changed && o.Check {
		return console.Exit(console.ExitUnformatted)
	}
	return err
}

// Files formats a file, or the files of a folder.
func Files(a *workspace.Workspace, path string, o Options) error {
	files, err := hclFiles(path, o.Recursive)
	if err != nil {
		a.Print(diag.Diagnostics{diag.Errorf("Cannot format", "%s: %v. Name a file, or a folder of *.hcl and *.kwvars files.", path, console.WithoutPath(err))})
		return console.Exit(exitUnreadable)
	}
	if len(files) == 0 && path == a.Folder() && !o.Recursive {
		a.QuietStdout = true
		a.Print(diag.Diagnostics{diag.Warningf("Nothing to format", "The folder has no *.hcl or *.kwvars files.%s", a.BeginningHint())})
	}
	changed, bad := false, false
	for _, f := range files {
		c, err := formatFile(a, f, o)
		if err != nil {
			bad = true
			if !errors.As(err, new(console.Exit)) {
				a.Print(diag.Diagnostics{diag.Errorf("Cannot format", "%s: %v.", f, console.WithoutPath(err))})
			}
		}
		changed = changed || c
	}
	switch {
	case bad:
		return console.Exit(exitUnreadable)
	case changed && o.Check:
		return console.Exit(console.ExitUnformatted)
	}
	return nil
}

func formatFile(a *workspace.Workspace, path string, o Options) (changed bool, err error) {
	src, err := hclconfig.ReadFile(path)
	if err != nil {
		return false, err
	}
	name, relErr := filepath.Rel(a.Dir, path)
	if relErr != nil {
		name = path
	}
	out, diags := hclconfig.Format(name, src)
	if diags.HasErrors() {
		a.Print(diags)
		return false, console.Exit(exitUnreadable)
	}
	if bytes.Equal(src, out) {
		return false, nil
	}
	if o.List {
		fmt.Fprintln(a.Stdout, ui.Clean(name))
	}
	if o.Diff {
		fmt.Fprint(a.Stdout, ui.CleanDiff(udiff.Unified("old/"+name, "new/"+name, string(src), string(out))))
	}
	if o.Check || !o.Write {
		return true, nil
	}
	return true, replaceFile(path, out, keepOwner)
}

// replaceFile replaces the content of an existing file atomically: a reader, also after a
// crash, has the old content or the new one. Mode and owner stay. A link is refused, since its
// target may be any file.
func replaceFile(path string, content []byte, keepOwner func(f *os.File, was fs.FileInfo) error) error {
	old, err := safefile.Change(path) // fails for a protected file
	if err != nil {
		return err
	}
	defer func() { _ = old.Close() }()
	was, err := old.Stat()
	if err != nil {
		return err
	}
	f, err := safefile.Replace(path, was.Mode().Perm())
	if err != nil {
		return err
	}
	defer func() { _ = f.Cleanup() }()
	if err := keepOwner(f.File, was); err != nil {
		return fmt.Errorf("it belongs to another user, and would be yours: %w. Have its owner format it", console.WithoutPath(err))
	}
	if _, err := f.Write(content); err != nil {
		return err
	}
	return f.CloseAtomicallyReplace()
}

// hclFiles lists the files to format: one file, or the files of a folder.
func hclFiles(path string, recursive bool) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	files, err := hclconfig.FilesToFormat(os.DirFS(path), recursive)
	for i, name := range files {
		files[i] = filepath.Join(path, filepath.FromSlash(name))
	}
	// Links come last: their targets in the folder are formatted by then.
	slices.SortStableFunc(files, func(x, y string) int { return cmp.Compare(linked(x), linked(y)) })
	return files, err
}

// linked is 1 for a link, else 0.
func linked(path string) int {
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return 1
	}
	return 0
}

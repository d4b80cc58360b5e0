package cli

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
	"github.com/spf13/cobra"
)

// fmtOptions are the flags of fmt.
type fmtOptions struct{ check, diff, recursive, write, list bool }

func fmtCommand(a *workspace.Workspace) *cobra.Command {
	var o fmtOptions
	cmd := &cobra.Command{
		Use: "fmt [FOLDER|FILE|-]", Short: "Format the configuration", Args: takes(0, 1),
		Long: "fmt rewrites *.hcl and *.kwvars files in the usual format and lists those it changed: those of the\n" +
			"configuration folder, or of another one, or one file, or with - what comes from stdin.\n\n" +
			"Exit codes: 0 formatted, 2 a file cannot be parsed or read, 3 with -check: not formatted.",
		Example: "  kubewright fmt\n  kubewright fmt -check -diff\n  kubewright fmt -recursive clusters\n  kubewright fmt - < main.hcl",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] == "-" {
				return fmtStdin(cmd.Context(), a, o)
			}
			path := a.Folder()
			switch {
			case len(args) == 0:
			case filepath.IsAbs(args[0]):
				path = args[0]
			default:
				path = filepath.Join(path, args[0])
			}
			return formatFiles(a, path, o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.check, "check", false, "change nothing; exit with 3 when something is not formatted")
	f.BoolVar(&o.diff, "diff", false, "show what changes")
	f.BoolVar(&o.recursive, "recursive", false, "go into folders")
	f.BoolVar(&o.write, "write", true, "write the files")
	f.BoolVar(&o.list, "list", true, "list the files")
	return cmd
}

const exitUnreadable = 2

// fmtStdin prints stdin in canonical format; with -check nothing, and with -diff the changes.
func fmtStdin(ctx context.Context, a *workspace.Workspace, o fmtOptions) error {
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
	case o.diff:
		_, err = io.WriteString(a.Stdout, ui.CleanDiff(udiff.Unified("old/<stdin>", "new/<stdin>", string(src), string(out))))
	case !o.check:
		_, err = a.Stdout.Write(out)
	}
	if err == nil && changed && o.check {
		return console.Exit(console.ExitUnformatted)
	}
	return err
}

func formatFiles(a *workspace.Workspace, path string, o fmtOptions) error {
	files, err := hclFiles(path, o.recursive)
	if err != nil {
		a.Print(diag.Diagnostics{diag.Errorf("Cannot format", "%s: %v. Name a file, or a folder of *.hcl and *.kwvars files.", path, console.WithoutPath(err))})
		return console.Exit(exitUnreadable)
	}
	if len(files) == 0 && path == a.Folder() && !o.recursive {
		a.QuietStdout = true
		a.Print(diag.Diagnostics{diag.Warningf("Nothing to format", "The folder has no *.hcl or *.kwvars files.%s", a.BeginningHint())})
	}
	changed, bad := false, false
	for _, f := range files {
		c, err := fmtFile(a, f, o)
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
	case changed && o.check:
		return console.Exit(console.ExitUnformatted)
	}
	return nil
}

func fmtFile(a *workspace.Workspace, path string, o fmtOptions) (changed bool, err error) {
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
	if o.list {
		fmt.Fprintln(a.Stdout, ui.Clean(name))
	}
	if o.diff {
		fmt.Fprint(a.Stdout, ui.CleanDiff(udiff.Unified("old/"+name, "new/"+name, string(src), string(out))))
	}
	if o.check || !o.write {
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

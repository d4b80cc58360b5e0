package starter

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/hclwriter"
	"github.com/kubewright/kubewright/examples"
)

var (
	//go:embed files/gitignore
	gitignore []byte
	//go:embed files/workflow.yml
	workflow []byte
)

// Names of the files that every starter has.
const (
	Main     = "main.hcl"
	Values   = "kubewright.kwvars"
	Ignored  = ".gitignore"
	Workflow = ".github/workflows/kubewright.yml"
)

// planned are the steps of the workflow for a configuration that is complete as it is, and its
// nightly job; unplanned says why another one has none of them.
const (
	planned = `      - name: Validate
        run: kubewright validate
      - name: Plan on simulated hosts
        run: kubewright plan -input=false%s
  certificates:
    if: github.event_name == 'schedule'
    runs-on: [self-hosted, clusters] # one that reaches the hosts over SSH
    steps:
      - uses: actions/checkout@v4
      - name: What expires within 25 days
        run: kubewright certificates -input=false -within=25d
`
	unplanned = "      # kubewright validate and kubewright certificates -within=25d need what is not in the repository. %s\n"
)

// File is one file to write; Name is its path in the folder, with slashes.
type File struct {
	Name string
	Text []byte
}

// Files returns the files of a starter for an example, its configuration last: without it the
// others have no effect.
func Files(e examples.Example) ([]File, error) {
	fsys, err := e.Files()
	if err != nil {
		return nil, err
	}
	main, err := fs.ReadFile(fsys, Main)
	if err != nil {
		return nil, err
	}
	values, err := hclwriter.Values(Main, main)
	if err != nil {
		return nil, fmt.Errorf("example %s: %w", e.Name, err)
	}
	files := []File{{Ignored, gitignore}, {Workflow, workflowOf(e, values)}}
	if values != nil {
		files = append(files, File{Values, values})
	}
	err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name == Main {
			return err
		}
		text, err := fs.ReadFile(fsys, name)
		files = append(files, File{name, text})
		return err
	})
	return append(files, File{Main, main}), err
}

// workflowOf returns the workflow with the steps that the example can pass in a fresh checkout.
func workflowOf(e examples.Example, values []byte) []byte {
	if e.Needs != "" {
		return slices.Concat(workflow, fmt.Appendf(nil, unplanned, e.Needs))
	}
	simulate := ""
	if Simulates(values) {
		simulate = " -var simulate=true"
	}
	return slices.Concat(workflow, fmt.Appendf(nil, planned, simulate))
}

// Simulates reports whether a file of values switches between simulated and real hosts.
func Simulates(values []byte) bool { return strings.Contains(string(values), "\nsimulate = ") }

// InTheWayError is the error for a folder that has files which a starter would write, or would
// become a part of.
type InTheWayError struct {
	Names []string
}

func (e *InTheWayError) Error() string { return "in the way: " + strings.Join(e.Names, ", ") }

// Finding returns the error for the user who asked for the example with this name. It does not
// offer to move files away: a state among them may be that of a cluster.
func (e *InTheWayError) Finding(example string) *diag.Diagnostic {
	is := "are"
	if len(e.Names) == 1 {
		is = "is"
	}
	return diag.Errorf("Files are in the way", "An example is written into a folder without a configuration or a state, and never over a file. In the way %s:\n\n  %s\n\n"+
		"Nothing was written. Begin in a folder of its own:\n\n  mkdir NAME && kubewright -chdir=NAME init -example=%s", is, strings.Join(e.Names, "\n  "), example)
}

// Write writes the files into a folder: all of them or none. It returns an *InTheWayError that
// names every file in the way, before anything is written. After another failure it removes what
// it has written. No symbolic link leads it out of the folder.
func Write(dir string, files []File, ours func(name string) bool) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	found, err := inTheWay(root, files, ours)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		return &InTheWayError{found}
	}
	var made []string
	for _, f := range files {
		dirs, err := makeFolders(root, path.Dir(f.Name))
		made = append(made, dirs...)
		if err == nil {
			err = create(root, f)
		}
		if err == nil {
			made = append(made, f.Name)
			continue
		}
		for _, name := range slices.Backward(made) {
			err = errors.Join(err, root.Remove(filepath.FromSlash(name)))
		}
		return err
	}
	return nil
}

// inTheWay returns the names in the folder that keep the files from being written, sorted: the
// same names, files in the place of their folders, and every file of a configuration or a state.
func inTheWay(root *os.Root, files []File, ours func(name string) bool) ([]string, error) {
	var out []string
	for _, f := range files {
		for dir := path.Dir(f.Name); dir != "."; dir = path.Dir(dir) {
			info, err := root.Stat(filepath.FromSlash(dir))
			switch {
			case err == nil && !info.IsDir():
				out = append(out, dir)
			case err != nil && !missing(err):
				return nil, err
			}
		}
		switch _, err := root.Lstat(filepath.FromSlash(f.Name)); {
		case err == nil:
			out = append(out, f.Name)
		case !missing(err):
			return nil, err
		}
	}
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, err
	}
	for _, en := range entries {
		if !en.IsDir() && ours(en.Name()) {
			out = append(out, en.Name())
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// missing reports whether a name does not exist, nor can below what is in the place of its folder.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// makeFolders makes a folder and those above it, and returns those that were missing.
func makeFolders(root *os.Root, dir string) ([]string, error) {
	if dir == "." {
		return nil, nil
	}
	made, err := makeFolders(root, path.Dir(dir))
	if err != nil {
		return made, err
	}
	switch err := root.Mkdir(filepath.FromSlash(dir), 0o755); {
	case err == nil:
		return append(made, dir), nil
	case errors.Is(err, fs.ErrExist):
		return made, nil
	default:
		return made, err
	}
}

// create creates a file, and removes it if it cannot be written whole.
func create(root *os.Root, f File) error {
	name := filepath.FromSlash(f.Name)
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(f.Text)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, root.Remove(name))
	}
	return nil
}

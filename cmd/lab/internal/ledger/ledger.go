package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// product are the folders of the program's source, and lab is that of the hosts and tests.
var product, lab = []string{"cmd/kubewright", "config", "engine", "planner", "providers", "state"}, []string{"cmd/lab"}

// module is the module path, with which coverage names files.
const module = "github.com/kubewright/kubewright/"

// Code is the repository's code.
type Code struct {
	root string
	tree *tree
	// libraries are the folders of the program's packages that hosts and tests import.
	libraries map[string]bool
}

// Read reads the code of the repository at root.
func Read(root string) (*Code, error) {
	t, err := read(root, append(slices.Clone(product), lab...), func(path string) bool {
		return strings.HasPrefix(path, "cmd/lab/e2e/") ||
			!strings.HasSuffix(path, "_test.go") && !strings.HasSuffix(path, ".md") && !strings.Contains(path, "/testdata/")
	})
	if err != nil {
		return nil, err
	}
	c := &Code{root, t, map[string]bool{}}
	for file, folders := range t.imports {
		for _, folder := range folders {
			if ofLab(file) && !ofLab(folder) {
				c.libraries[folder] = true
			}
		}
	}
	return c, nil
}

// ofLab reports whether a file is of the hosts and tests, not of the program.
func ofLab(file string) bool { return strings.HasPrefix(file, lab[0]+"/") }

// An Entry records that a test has passed.
type Entry struct {
	// Test is the test's name, and Commit is the commit that it passed at, with "-dirty" behind it
	// where the work tree differed.
	Test, Commit string
	Passed       time.Time
	Seconds      int
	// Ran are the functions of the program that ran, as FILE:NAME or FILE:TYPE.NAME. Empty means
	// that this is not known: then all of the program matters.
	Ran []string `json:",omitempty"`
	// Reads are the files and folders of the repository that the test reads besides.
	Reads []string `json:",omitempty"`
	// Parts are the digests of what can affect the test, by what it is.
	Parts map[string]string
}

// Parts returns the digests of all code that can affect a test.
func (c *Code) Parts(test string, ran, reads []string) (map[string]string, error) {
	out := map[string]string{"the Go release": runtime.Version()}
	of := map[string]bool{}
	for _, id := range ran {
		of[id] = true
	}
	name, _, _ := strings.Cut(test, "/")
	found := false
	var begin []*declaration
	for file, declarations := range c.tree.files {
		for _, d := range declarations {
			is := ofLab(file) && d.receiver == "" && d.function && d.names[0] == name
			found = found || is
			if is || of[d.id] || len(ran) == 0 && !ofLab(file) {
				begin = append(begin, d)
			}
		}
	}
	if !found {
		return nil, fmt.Errorf("no function below %s is the test %s", lab[0], name)
	}
	maps.Copy(out, c.tree.parts(begin, func(d *declaration) bool {
		file, _, _ := strings.Cut(d.id, ":")
		return len(ran) == 0 || of[d.id] || c.libraries[path.Dir(file)] || ofLab(file) && !strings.HasPrefix(d.names[0], "Test")
	}))
	maps.Copy(out, c.tree.other)
	more, err := read(c.root, append([]string{"go.mod", "go.sum"}, reads...), func(string) bool { return true })
	if err != nil {
		return nil, err
	}
	maps.Copy(out, more.other)
	for _, declarations := range more.files {
		for _, d := range declarations {
			out[d.id] = d.digest
		}
	}
	return out, nil
}

// Affected returns what in the code can affect a test since it passed, sorted; nothing means
// that it would pass again.
func (c *Code) Affected(e Entry) ([]string, error) {
	parts, err := c.Parts(e.Test, e.Ran, e.Reads)
	if err != nil {
		return nil, err
	}
	var out []string
	for id, digest := range parts {
		if e.Parts[id] != digest {
			out = append(out, id)
		}
	}
	for id := range e.Parts {
		if _, ok := parts[id]; !ok {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out, nil
}

// file returns the file of a test's entry in a folder.
func file(folder, test string) string {
	return filepath.Join(folder, strings.ReplaceAll(test, "/", "__")+".json")
}

// Load returns the entry of a test in a folder, and whether there is one.
func Load(folder, test string) (Entry, bool, error) {
	text, err := os.ReadFile(file(folder, test))
	if errors.Is(err, fs.ErrNotExist) {
		return Entry{}, false, nil
	}
	var e Entry
	if err == nil {
		err = json.Unmarshal(text, &e)
	}
	return e, err == nil, err
}

// Store writes the entry of a test that has passed.
func Store(folder string, e Entry) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return os.WriteFile(file(folder, e.Test), text, 0o600)
}

// Remove removes the entry of a test that has failed.
func Remove(folder, test string) error {
	if err := os.Remove(file(folder, test)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

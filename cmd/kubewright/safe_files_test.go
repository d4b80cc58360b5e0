package main

import (
	"cmp"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/cli"
)

// openers are the functions that open a file by its name, whatever the name leads to.
var openers = map[string][]string{
	"os":                            {"Open", "OpenFile", "OpenRoot", "Create", "CreateTemp", "ReadFile", "WriteFile", "Truncate", "Rename", "DirFS", "CopyFS"},
	"io/ioutil":                     {"ReadFile", "WriteFile", "TempFile"},
	"syscall":                       {"Open", "Openat", "Creat", "Rename"},
	"golang.org/x/sys/unix":         {"Open", "Openat", "Creat", "Rename"},
	"github.com/google/renameio/v2": {"NewPendingFile", "TempFile", "WriteFile", "Symlink"},
	"github.com/gofrs/flock":        {"New", "NewRW"},
}

// direct are the places that may open files directly, and why.
var direct = map[string]string{
	"state/safefile":                                 "is what all others use",
	"state/statefile/fsys.go":                        "opens a folder to sync it",
	"config/hclconfig/load.go":                       "opens the configuration folder, whose files are read through it",
	"providers/performer_artifacts.go":               "opens the folder of artifacts, whose files are read through it",
	"cmd/kubewright/internal/formatter/formatter.go": "lists a folder, and opens none of its files",
	"cmd/kubewright/internal/console/ask.go":         "opens the terminal",
	"cmd/kubewright/internal/manual":                 "writes into a folder of the developer who makes a release",
	"cmd/kubewright/internal/starter/starter.go":     "opens the folder of a new configuration, in which it creates what is not there",
}

// TestFilesAreOpenedSafely checks that only package safefile opens files of the operator. Test
// helpers, the lab and the tools of releases are exempt: they open files of the developer who runs
// them.
func TestFilesAreOpenedSafely(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for pkg := range packages(t) {
		if strings.HasPrefix(pkg, "cmd/lab") || strings.HasPrefix(pkg, "tools/") || strings.HasSuffix(pkg, "test") || strings.HasSuffix(pkg, "testserver") {
			continue
		}
		files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(pkg), "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			for _, found := range opened(t, path) {
				name := pkg + "/" + filepath.Base(path)
				used[pkg], used[name] = true, true
				if direct[pkg] == "" && direct[name] == "" {
					t.Errorf("%s: files are opened with package safefile, which follows no link and waits for no pipe", found)
				}
			}
		}
	}
	for name := range direct {
		if !used[name] {
			t.Errorf("%s opens no file directly: remove it from the list", name)
		}
	}
}

// opened returns the places in a file that use one of the openers.
func opened(t *testing.T, path string) (out []string) {
	t.Helper()
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	functions := map[string][]string{}
	for _, i := range f.Imports {
		from, _ := strconv.Unquote(i.Path.Value)
		name := filepath.Base(strings.TrimSuffix(from, "/v2"))
		if i.Name != nil {
			name = i.Name.Name
		}
		if openers[from] != nil {
			functions[name] = openers[from]
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && slices.Contains(functions[x.Name], s.Sel.Name) {
				out = append(out, set.Position(n.Pos()).String()+": "+x.Name+"."+s.Sel.Name)
			}
		}
		return true
	})
	return out
}

// traps create something other than a regular file under a file's name, by description.
var traps = map[string]func(path, victim string) error{
	"a symbolic link": func(path, victim string) error { return os.Symlink(victim, path) },
	"a dangling link": func(path, victim string) error { return os.Symlink(victim+".none", path) },
	"zeros":           func(path, _ string) error { return os.Symlink("/dev/zero", path) },
	"a pipe":          func(path, _ string) error { return syscall.Mkfifo(path, 0o600) },
	"a folder":        func(path, _ string) error { return os.Mkdir(path, 0o700) },
	"a socket": func(path, _ string) error {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		if err == nil {
			l.SetUnlinkOnClose(false)
			err = l.Close()
		}
		return err
	},
	"a device": func(path, _ string) error { return syscall.Mknod(path, syscall.S_IFCHR|0o600, 1<<8|5) },
}

// touched is a file that commands use. In the arguments of each command FILE stands for its name.
type touched struct {
	file     string
	commands []string
	// variables are environment variables; FILE stands for the name as well.
	variables map[string]string
	// followed means that links to the file are followed, because it is only read; folders that a
	// folder of that name is legitimate.
	followed, folders bool
	// config is added to the configuration.
	config string
	// holds is the content of the file that a link leads to; the default is {}.
	holds string
}

var touchedFiles = map[string]touched{
	"lock": {file: "kubewright.state.lock", commands: []string{
		"state pull", "apply -auto-approve", "apply -refresh-only -auto-approve", "destroy -auto-approve", "state mv -dry-run node.worker node.other", "state rm -dry-run node.worker", "lock status", "sim edit 10.0.0.21 label host-10-0-0-21 a=b",
	}},
	"state":    {file: "kubewright.state.json", commands: []string{"plan", "show", "apply -auto-approve", "state list", "state pull", "output"}},
	"journal":  {file: "kubewright.journal", commands: []string{"plan", "apply -auto-approve"}},
	"backend":  {file: ".kubewright/backend.json", commands: []string{"plan", "apply -auto-approve", "init"}},
	"world":    {file: "kubewright.sim.json", commands: []string{"plan", "apply -auto-approve"}},
	"plan out": {file: "x.kwplan", commands: []string{"plan -out=FILE"}},
	"plan":     {file: "x.kwplan", commands: []string{"show FILE", "apply FILE"}},
	"lines":    {file: "lines", commands: []string{"plan -json-into=FILE", "apply -auto-approve -json-into=FILE"}},
	"log":      {file: "log", commands: []string{"plan", "version"}, variables: map[string]string{"KUBEWRIGHT_LOG": "info", "KUBEWRIGHT_LOG_PATH": "FILE"}},
	"format":   {file: "x.hcl", commands: []string{"fmt", "fmt FILE", "fmt -check -diff FILE"}, folders: true, holds: "a={}\n"},
	"snapshot": {file: "x.db", commands: []string{"etcd snapshot -out=FILE", "etcd restore FILE"}},
	"kubeconfig": {
		file: "x.conf", commands: []string{"kubeconfig -out=FILE", "kubeconfig -merge -out=FILE", "kubeconfig -merge"},
		variables: map[string]string{"KUBECONFIG": "FILE"},
	},
	"generated": {file: "x.hcl", commands: []string{"plan -generate-config-out=FILE"}},
	"variables": {file: "x.kwvars", commands: []string{"plan -var-file=FILE"}, followed: true},
	"own vars":  {file: "x.auto.kwvars", commands: []string{"plan", "validate"}, folders: true},
	"settings": {
		file: "settings", commands: []string{"init -backend-config=FILE"}, followed: true,
		config: `kubewright { backend "http" {} }`,
	},
	"pushed": {file: "pushed", commands: []string{"state push FILE"}, followed: true},
	"approvals": {
		file: "approvals", commands: []string{"plan", "apply -auto-approve"},
		config: `policy "p" { approval { file = "approvals" } }`,
	},
	"bundle sum": {file: "artifacts/SHA256SUMS", commands: []string{"bundle -dir=artifacts"}},
}

// TestIrregularFilesRefused checks that a command whose file is something other than a regular
// file ends, names it, and changes nothing that a link leads to.
func TestIrregularFilesRefused(t *testing.T) {
	t.Parallel()
	base := foundedFolder(t)
	for what, touched := range touchedFiles {
		for is, trap := range traps {
			t.Run(what+"/"+is, func(t *testing.T) {
				t.Parallel()
				base.onCopy(t, func(dir folder) { touched.sprung(t, dir, is, trap) })
			})
		}
	}
}

// sprung runs each command against a trap.
func (f touched) sprung(t *testing.T, dir folder, is string, trap func(path, victim string) error) {
	path, victim := filepath.Join(string(dir), f.file), filepath.Join(t.TempDir(), "victim")
	holds := cmp.Or(f.holds, "{}\n")
	err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.RemoveAll(path), os.WriteFile(victim, []byte(holds), 0o640))
	if err == nil {
		err = trap(path, victim)
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		t.Skip(err)
	case err != nil:
		t.Fatal(err)
	}
	dir.replace(t, "connection {", strings.NewReplacer("{ ", "{\n", " }", "\n}").Replace(f.config)+"\n\nconnection {")
	for _, command := range f.commands {
		env, printed := dir.env(strings.Fields(strings.ReplaceAll(command, "FILE", f.file))...)
		env.Getenv = func(name string) string { return strings.ReplaceAll(f.variables[name], "FILE", path) }
		code, out := cli.Main(env), ""
		out = strings.Join(strings.Fields(printed()), " ")
		other := f.followed && is == "a symbolic link" || f.folders && is == "a folder"
		if !other && (code == 0 || !strings.Contains(out, filepath.Base(f.file))) {
			t.Errorf("kubewright %s: exit code %d\n%s", command, code, out)
		}
		info, err := os.Stat(victim)
		if b, readErr := os.ReadFile(victim); err != nil || readErr != nil || string(b) != holds || info.Mode().Perm() != 0o640 {
			t.Fatalf("kubewright %s left %v, and %q in the victim", command, info, b)
		}
		if left, _ := os.ReadDir(filepath.Dir(victim)); len(left) != 1 {
			t.Fatalf("kubewright %s created %v", command, left)
		}
	}
}

// TestLinkedFoldersRefused checks that a link in place of one of kubewright's folders is not
// followed, and that nothing is written where every user can replace it.
func TestLinkedFoldersRefused(t *testing.T) {
	t.Parallel()
	base := foundedFolder(t)
	link := func(name string) func(dir folder, elsewhere string) error {
		return func(dir folder, elsewhere string) error {
			return os.Symlink(elsewhere, filepath.Join(string(dir), name))
		}
	}
	open := func(name string, mode fs.FileMode) func(dir folder, _ string) error {
		return func(dir folder, _ string) error {
			path := filepath.Join(string(dir), name)
			return errors.Join(os.MkdirAll(path, 0o700), os.Chmod(path, mode))
		}
	}
	const exposed = "every user of this machine can replace files in its folder"
	for name, tt := range map[string]struct {
		trap    func(dir folder, elsewhere string) error
		command string
		says    string // empty where the command works
	}{
		"snapshots elsewhere":        {link("kubewright.snapshots"), "etcd snapshot", "it is a symbolic link, not a directory"},
		"snapshots for all":          {open("kubewright.snapshots", 0o777), "etcd snapshot", exposed},
		"snapshots":                  {open("kubewright.snapshots", 0o700), "etcd snapshot", ""},
		"backend elsewhere":          {link(".kubewright"), "init", "it is a symbolic link, not a directory"},
		"an apply for all":           {open(".", 0o777), "apply -auto-approve", exposed},
		"a plan for all":             {open(".", 0o777), "plan -out=x.kwplan", exposed},
		"a look for all":             {open(".", 0o777), "plan", ""},
		"an apply for the group":     {open(".", 0o775), "apply -auto-approve", ""},
		"an apply in a sticky place": {open(".", 0o777|fs.ModeSticky), "apply -auto-approve", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base.onCopy(t, func(dir folder) {
				elsewhere := t.TempDir()
				if err := tt.trap(dir, elsewhere); err != nil {
					t.Fatal(err)
				}
				code, out := dir.run(strings.Fields(tt.command)...)
				if said := strings.Join(strings.Fields(out), " "); (code == 0) != (tt.says == "") || !strings.Contains(said, tt.says) {
					t.Errorf("exit code %d\n%s", code, out)
				}
				if made, _ := os.ReadDir(elsewhere); len(made) != 0 {
					t.Errorf("the command created %v", made)
				}
			})
		})
	}
}

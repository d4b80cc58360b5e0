package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/cli"
)

// founding is what the first apply of a configuration leaves in its folder. Tests that start
// from an applied configuration and do not check that apply's output share it.
type founding struct {
	once  sync.Once
	files map[string][]byte
	// ids is the number of IDs that the apply used.
	ids int
	err error
}

// foundings are the foundings of this process, by configuration.
var foundings sync.Map

// found applies a configuration at the time of the simulated world, once per process.
func found(config string) (*founding, error) {
	entry, _ := foundings.LoadOrStore(config, &founding{})
	f := entry.(*founding)
	f.once.Do(func() { f.err = f.apply(config) })
	return f, f.err
}

func (f *founding) apply(config string) error {
	dir, err := os.MkdirTemp("", "founding")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "main.hcl"), []byte(config), 0o600); err != nil {
		return err
	}
	env, printed := folder(dir).env("apply", "-auto-approve", "-parallelism=1") // for a deterministic placement of pods
	env.Now = func() time.Time { return simulated }
	env.NewID = func() string { f.ids++; return fmt.Sprintf("%032x", f.ids) }
	if code := cli.Main(env); code != 0 {
		return fmt.Errorf("exit code %d\n%s", code, printed())
	}
	f.files = map[string][]byte{}
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f.files[d.Name()], err = os.ReadFile(path)
		return err
	})
}

func (f *founding) write(dir string) error {
	for name, b := range f.files {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// putFounded puts into a script's folder what a first apply of its main.hcl leaves.
func putFounded(ts *testscript.TestScript, _ bool, _ []string) {
	if had, err := filepath.Glob(ts.MkAbs("kubewright.s*.json")); len(had) > 0 || err != nil || ts.Getenv("NOW") != simulated.Format(time.RFC3339) {
		ts.Fatalf("a first apply belongs where nothing was applied, at its time: %v %v", had, err)
	}
	f, err := found(ts.ReadFile("main.hcl"))
	ts.Check(err)
	ts.Check(f.write(ts.MkAbs(".")))
	of(ts).ids += f.ids
}

// foundedWith returns a folder with a configuration that was applied.
func foundedWith(t *testing.T, config string) folder {
	t.Helper()
	f, err := found(config)
	if err != nil {
		t.Fatal(err)
	}
	dir := folder(t.TempDir())
	if err := f.write(string(dir)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// foundedFolder returns a folder with crashConfig, applied.
func foundedFolder(t *testing.T) folder {
	t.Helper()
	return foundedWith(t, crashConfig)
}

// blankFolder returns a folder with crashConfig, and hosts in their initial state.
func blankFolder(t *testing.T) folder {
	t.Helper()
	return newFolder(t, crashConfig)
}

// changedFolder returns a foundedFolder with a change that is not applied.
func changedFolder(t *testing.T) folder {
	t.Helper()
	f := foundedFolder(t)
	f.replace(t, `"general"`, `"batch"`)
	f.replace(t, `cert_sans = ["api.example.com"]`, "cert_sans = [\"api.example.com\"]\n    arg \"audit-log-maxage\" { value = \"30\" }")
	return f
}

// raisedFolder returns a cluster that is about to be upgraded.
func raisedFolder(t *testing.T) folder {
	t.Helper()
	return raisedFrom(t, "1.35.8", crashConfig)
}

// raisedTwiceFolder returns a cluster that is about to be upgraded by two minor versions.
func raisedTwiceFolder(t *testing.T) folder {
	t.Helper()
	return raisedFrom(t, "1.34.9", crashConfig)
}

func raisedFrom(t *testing.T, version, config string) folder {
	t.Helper()
	f := newFolder(t, strings.Replace(config, "1.36.3", version, 1))
	f.kubelets(t, version)
	f.must(t, "apply", "-auto-approve")
	f.replace(t, version, "1.36.3")
	f.kubelets(t, "1.36.3")
	return f
}

// oneConfig is crashConfig with one control plane and nothing else.
var oneConfig = strings.Replace(crashConfig[:strings.Index(crashConfig, "node \"worker\"")], `, cp2 = "10.0.0.12", cp3 = "10.0.0.13"`, "", 1)

// raisedOneFolder returns a cluster of one control plane that is about to be upgraded.
func raisedOneFolder(t *testing.T) folder {
	t.Helper()
	return raisedFrom(t, "1.35.8", oneConfig)
}

// tunedOneFolder returns a cluster of one control plane whose etcd is about to get another
// argument.
func tunedOneFolder(t *testing.T) folder {
	t.Helper()
	f := foundedWith(t, oneConfig)
	f.replace(t, "  api_server {", "  etcd {\n    arg \"snapshot-count\" { value = \"20000\" }\n  }\n  api_server {")
	return f
}

// rolesFolder returns a cluster in which a worker is about to become a control plane and a
// control plane is about to be removed.
func rolesFolder(t *testing.T) folder {
	t.Helper()
	f := foundedFolder(t)
	f.replace(t, "role    = \"worker\"", "role    = \"control-plane\"") // the worker becomes a control plane
	f.replace(t, `cp1 = "10.0.0.11", `, "")
	return f
}

// after returns a constructor of a foundedFolder whose clock is advanced by d.
func after(d string) func(t *testing.T) folder {
	return func(t *testing.T) folder {
		t.Helper()
		f := foundedFolder(t)
		f.must(t, "sim", "edit", crashHosts[0], "time", d)
		return f
	}
}

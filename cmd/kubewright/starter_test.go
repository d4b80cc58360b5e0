package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	embedded "github.com/kubewright/kubewright/examples"
	"sigs.k8s.io/yaml"
)

// begin returns a folder into which init -example has written an example.
func begin(t *testing.T, e embedded.Example) *example {
	t.Helper()
	x := &example{t: t, dir: t.TempDir()}
	x.run(0, "init", "-example="+e.Name)
	return x
}

// TestStartersAreTheExamples checks that every folder of examples can be written by init
// -example, with the files that it has here.
func TestStartersAreTheExamples(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(examples)
	if err != nil {
		t.Fatal(err)
	}
	var folders, known []string
	for _, en := range entries {
		if en.IsDir() {
			folders = append(folders, en.Name())
		}
	}
	for _, e := range embedded.All() {
		known = append(known, e.Folder)
	}
	slices.Sort(known)
	if !slices.Equal(folders, known) {
		t.Errorf("the folder of examples has %v, and init -example knows %v", folders, known)
	}
	for _, e := range embedded.All() {
		x := begin(t, e)
		files, err := os.ReadDir(filepath.Join(examples, e.Folder))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if f.IsDir() {
				continue // tests of the example
			}
			want, err := os.ReadFile(filepath.Join(examples, e.Folder, f.Name()))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(filepath.Join(x.dir, f.Name())); f.Name() != "demo.sh" && (err != nil || !bytes.Equal(got, want)) {
				t.Errorf("%s: %s is not as in the folder of the example: %v", e.Name, f.Name(), err)
			}
		}
	}
}

// TestStartersPlan runs the workflow of every starter as it was written, and then plans with what
// the operator adds, over simulated hosts.
func TestStartersPlan(t *testing.T) {
	t.Parallel()
	for _, e := range embedded.All() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			x := begin(t, e)
			steps := x.workflow()
			if want := map[bool]int{true: 4, false: 1}[e.Needs == ""]; len(steps) != want {
				t.Errorf("the workflow has %d steps: %v", len(steps), steps)
			}
			for _, step := range steps {
				x.run(0, strings.Fields(step)[1:]...)
			}
			if need := exampleNeeds[e.Folder]; (need != nil) != (e.Needs != "") {
				t.Errorf("what is said to be brought first: %q", e.Needs)
			} else if need != nil {
				x.environ = need(t, &x.operator, x.dir)
			}
			x.run(0, "validate")
			if out := x.run(0, "plan"); !strings.Contains(out, "Plan: ") || strings.Contains(out, "Plan: 0 to add") {
				t.Errorf("the plan creates nothing:\n%s", out)
			}
		})
	}
}

// workflow returns the commands of the workflow's steps.
func (x *example) workflow() []string {
	x.t.Helper()
	text, err := os.ReadFile(filepath.Join(x.dir, ".github", "workflows", "kubewright.yml"))
	if err != nil {
		x.t.Fatal(err)
	}
	var doc struct {
		Jobs map[string]struct {
			Steps []struct{ Name, Uses, Run string } `json:"steps"`
		} `json:"jobs"`
	}
	if err := yaml.Unmarshal(text, &doc); err != nil {
		x.t.Fatal(err)
	}
	var out []string
	for _, job := range []string{"check", "certificates"} {
		for _, step := range doc.Jobs[job].Steps {
			if step.Run != "" {
				out = append(out, step.Run)
			}
		}
	}
	return out
}

// TestStarterKeepsSecretsOutOfGit checks with git itself that after the commands that write
// files, only those of the starter are left to commit.
func TestStarterKeepsSecretsOutOfGit(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	e, _ := embedded.Find("ha")
	x := begin(t, e)
	git := func(args ...string) string {
		cmd := exec.Command("git", args...)
		cmd.Dir = x.dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	git("init", "-q")
	committed := git("status", "--porcelain", "--untracked-files=all")
	if n := strings.Count(committed, "\n"); n != 4 {
		t.Errorf("%d files are to be committed:\n%s", n, committed)
	}
	x.run(0, "apply", "-auto-approve")
	x.run(0, "plan", "-out=next.kwplan", "-var=kubernetes_version=1.36.4")
	x.run(0, "apply", "-var=kubernetes_version=1.36.4", "next.kwplan") // an older state stays beside it
	x.run(0, "etcd", "snapshot")
	x.run(0, "etcd", "snapshot", "-out=mine.db")
	x.run(0, "kubeconfig", "-out=admin.kubeconfig")
	x.run(0, "kubeconfig", "-out=kubeconfig")
	for _, name := range []string{"ca.key", "admin.conf", "kubewright.errored.state.json", "kubewright.journal.overtaken.3", "supplied/cp1/admin.conf"} {
		path := filepath.Join(x.dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, path, "secret")
	}
	ignored := git("status", "--porcelain", "--ignored", "--untracked-files=all")
	for _, name := range []string{"kubewright.state.json\n", "kubewright.state.json.backup.", "kubewright.journal\n", "kubewright.snapshots/", "next.kwplan", "mine.db", "admin.kubeconfig", "kubeconfig\n", "kubewright.sim.json"} {
		if !strings.Contains(ignored, "!! "+name) {
			t.Errorf("%s is not there, or not ignored:\n%s", strings.TrimSpace(name), ignored)
		}
	}
	if after := git("status", "--porcelain", "--untracked-files=all"); after != committed {
		t.Errorf("git would commit more than the starter:\n%s", after)
	}
}

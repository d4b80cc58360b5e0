package ledger

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// files are a small repository: a program with two commands, a library that the tests use, and
// two tests.
var files = map[string]string{
	"go.mod":                     "module github.com/kubewright/kubewright\n",
	"go.sum":                     "",
	"examples/one/main.hcl":      "cluster {}\n",
	"config/config.go":           "package config\n\n// Version is the version.\nfunc Version() string { return version }\n\nconst (\n\tfirst = iota\n\tsecond\n)\n\nvar version = \"1\"\n\nvar unused = second\n",
	"planner/plan.go":            "package planner\n\n// Plan plans.\nfunc Plan(c Color) string { return c.name }\n\n// Color is a color.\ntype Color struct{ name string }\n\nfunc destroy() string { return \"destroy\" }\n",
	"engine/e.go":                "package engine\n",
	"providers/scripts/do.sh":    "true\n",
	"providers/p.go":             "package providers\n\nimport _ \"embed\"\n\n//go:embed scripts/do.sh\nvar script string\n",
	"state/s.go":                 "package state\n",
	"cmd/kubewright/main.go":     "package main\n\nfunc main() {}\n",
	"cmd/lab/internal/lab/up.go": "package lab\n\nimport _ \"github.com/kubewright/kubewright/config\"\n\n// Up starts hosts.\nfunc Up() { start() }\n\nfunc start() {}\n\nfunc other() {}\n",
	"cmd/lab/e2e/a_test.go":      "package e2e\n\nfunc TestA(t *T) { Up(); Version() }\n\nfunc TestB(t *T) { Up() }\n\nfunc help() {}\n",
}

// repository writes the files of a repository, with replacements in some of them.
func repository(t *testing.T, edits map[string][2]string) string {
	t.Helper()
	root := t.TempDir()
	all := maps.Clone(files)
	for name, edit := range edits {
		all[name] = strings.Replace(all[name], edit[0], edit[1], 1)
		if all[name] == files[name] {
			t.Fatalf("%s does not have %q", name, edit[0])
		}
	}
	for name, text := range all {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func code(t *testing.T, edits map[string][2]string) *Code {
	t.Helper()
	c, err := Read(repository(t, edits))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestAffectedByWhatRan checks which changes affect a test that ran Plan and main.
func TestAffectedByWhatRan(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file     string
		from, to string
		want     []string
	}{
		"a function that ran":           {"planner/plan.go", "return c.name", "return c.name + c.name", []string{"planner/plan.go:Plan"}},
		"a type that it uses":           {"planner/plan.go", "name string }", "name, code string }", []string{"planner/plan.go:Color"}},
		"a method of that type":         {"planner/plan.go", "func destroy()", "func (Color) String() string { return \"\" }\n\nfunc destroy()", []string{"planner/plan.go:Color.String"}},
		"a function that did not run":   {"planner/plan.go", `return "destroy"`, `return "remove"`, nil},
		"a comment":                     {"planner/plan.go", "// Plan plans.", "// Plan returns a plan.", nil},
		"an initialisation":             {"engine/e.go", "package engine\n", "package engine\n\nvar _ = 1\n", []string{"engine/e.go:_"}},
		"a library that the test uses":  {"config/config.go", "return version", "return version + version", []string{"config/config.go:Version"}},
		"a variable of the library":     {"config/config.go", `version = "1"`, `version = "2"`, []string{"config/config.go:version"}},
		"a variable that nothing uses":  {"config/config.go", "unused = second", "unused = first", nil},
		"an embedded file":              {"providers/scripts/do.sh", "true", "false", []string{"providers/scripts/do.sh"}},
		"what is embedded":              {"providers/p.go", "//go:embed scripts/do.sh", "//go:embed scripts/*.sh", []string{"providers/p.go"}},
		"the test":                      {"cmd/lab/e2e/a_test.go", "TestA(t *T) { Up();", "TestA(t *T) { Up(); Up();", []string{"cmd/lab/e2e/a_test.go:TestA"}},
		"another test":                  {"cmd/lab/e2e/a_test.go", "TestB(t *T) { Up()", "TestB(t *T) { Up(); Up()", nil},
		"the hosts":                     {"cmd/lab/internal/lab/up.go", "func start() {}", "func start() { other() }", []string{"cmd/lab/internal/lab/up.go:other", "cmd/lab/internal/lab/up.go:start"}},
		"a function that no test calls": {"cmd/lab/internal/lab/up.go", "func other() {}", "func other() { start() }", nil},
		"a dependency":                  {"go.mod", "\n", "\n\ngo 1.26\n", []string{"go.mod"}},
		"a file that the test reads":    {"examples/one/main.hcl", "{}", "{ }", []string{"examples/one/main.hcl"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ran, reads := []string{"planner/plan.go:Plan", "cmd/kubewright/main.go:main"}, []string{"examples"}
			parts, err := code(t, nil).Parts("TestA", ran, reads)
			if err != nil {
				t.Fatal(err)
			}
			got, err := code(t, map[string][2]string{c.file: {c.from, c.to}}).Affected(Entry{Test: "TestA", Ran: ran, Reads: reads, Parts: parts})
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("affected by %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

// TestAffectedByEverything checks that all of the program affects a test of which it is not known
// what ran.
func TestAffectedByEverything(t *testing.T) {
	t.Parallel()
	parts, err := code(t, nil).Parts("TestA", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := code(t, map[string][2]string{"planner/plan.go": {`"destroy"`, `"remove"`}}).Affected(Entry{Test: "TestA", Parts: parts})
	if want := []string{"planner/plan.go:destroy"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("affected by %q, %v, want %q", got, err, want)
	}
	if _, err := code(t, nil).Parts("TestC", nil, nil); err == nil {
		t.Error("a test that does not exist has parts")
	}
}

// TestCoverageShowsWhatRan builds a program with coverage, runs it, and reads what ran.
func TestCoverageShowsWhatRan(t *testing.T) {
	t.Parallel()
	root := repository(t, map[string][2]string{
		"cmd/kubewright/main.go": {"func main() {}", "import \"github.com/kubewright/kubewright/planner\"\n\nfunc main() { planner.Plan(planner.Color{}) }"},
	})
	program, coverage := filepath.Join(root, "program"), filepath.Join(root, "coverage")
	run := func(env []string, argv ...string) {
		t.Helper()
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir, cmd.Env = root, append(os.Environ(), env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", argv, err, out)
		}
	}
	if err := os.Mkdir(coverage, 0o755); err != nil {
		t.Fatal(err)
	}
	run([]string{"GOFLAGS=", "CGO_ENABLED=0"}, "go", "build", "-cover", "-coverpkg=./...", "-o", program, "./cmd/kubewright")
	run([]string{"GOCOVERDIR=" + coverage}, program)
	c, err := Read(root)
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Ran(coverage, 1)
	if want := []string{"cmd/kubewright/main.go:main", "planner/plan.go:Plan"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q ran, %v, want %q", got, err, want)
	}
	if got, err := c.Ran(coverage, 2); err != nil || got != nil {
		t.Errorf("after a process without coverage: %q, %v", got, err)
	}
}

// TestEntries checks that entries are kept until they are removed.
func TestEntries(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "passed")
	for _, test := range []string{"TestA", "TestA/v1.36.3"} {
		if _, ok, err := Load(folder, test); ok || err != nil {
			t.Fatalf("%s: %t, %v", test, ok, err)
		}
		if err := Store(folder, Entry{Test: test, Commit: "c1"}); err != nil {
			t.Fatal(err)
		}
		if e, ok, err := Load(folder, test); !ok || err != nil || e.Commit != "c1" || e.Test != test {
			t.Errorf("%s: %+v, %t, %v", test, e, ok, err)
		}
	}
	for range 2 {
		if err := Remove(folder, "TestA"); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok, err := Load(folder, "TestA"); ok || err != nil {
		t.Errorf("a removed entry: %t, %v", ok, err)
	}
}

// TestShards checks that shards are about equally long, that each test is in one of them, and which
// texts are no shards.
func TestShards(t *testing.T) {
	t.Parallel()
	usual := map[string]time.Duration{"a": 45, "b": 40, "c": 25, "d": 20, "e": 15, "f": 15, "g": 5, "h": 5, "i": 10}
	times := map[Shard]time.Duration{}
	for test, shard := range Divide(usual, 4) {
		times[shard] += usual[test]
	}
	if len(times) != 4 {
		t.Errorf("shards: %v", times)
	}
	for shard, sum := range times {
		if sum < 40 || sum > 50 {
			t.Errorf("shard %s takes %d of %v", shard, sum, times)
		}
	}
	if s, err := ParseShard("2/4"); err != nil || s != (Shard{2, 4}) {
		t.Errorf("2/4: %v, %v", s, err)
	}
	if s, err := ParseShard(""); err != nil || s != (Shard{1, 1}) {
		t.Errorf("nothing: %v, %v", s, err)
	}
	for _, text := range []string{"0/4", "5/4", "1", "1/", "a/b", "1/4x", "-1/4", " 1/4"} {
		if _, err := ParseShard(text); err == nil || !strings.Contains(err.Error(), "2/4") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

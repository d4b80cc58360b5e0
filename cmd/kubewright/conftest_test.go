//go:build e2e

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// conftest is built from its module, which is too large to build for each change.
const conftest = "github.com/open-policy-agent/conftest@v0.71.1"

// TestConftest checks plans with conftest and the policy of docs/how-to/check-plans-with-opa.md.
func TestConftest(t *testing.T) {
	if os.Getenv("KUBEWRIGHT_E2E_ALL") == "" {
		t.Skip("builds conftest, which takes a minute or two: make e2e-all runs it")
	}
	page, err := os.ReadFile(filepath.Join(examples, "..", "docs", "how-to", "check-plans-with-opa.md"))
	if err != nil {
		t.Fatal(err)
	}
	rego := regexp.MustCompile("(?s)```rego\n(.*?)```").FindSubmatch(page)
	config, err := os.ReadFile(filepath.Join(examples, "quickstart", "main.hcl"))
	if err != nil || rego == nil {
		t.Fatal("no policy in the page, or no configuration: ", err)
	}
	bin, policies := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(policies, "kubewright.rego"), rego[1], 0o600); err != nil {
		t.Fatal(err)
	}
	install := exec.Command("go", "install", conftest)
	install.Env = append(os.Environ(), "GOBIN="+bin)
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	judge := func(f folder, fails bool, want string) {
		t.Helper()
		f.must(t, "plan", "-out=plan.kwplan")
		c := exec.Command(filepath.Join(bin, "conftest"), "test", "--no-color", "--policy", policies, "-")
		shown := f.must(t, "show", "-json", "plan.kwplan")
		c.Stdin = strings.NewReader(shown[strings.Index(shown, "{"):]) // skips the warning on stderr that a first plan is not authenticated
		out, err := c.CombinedOutput()
		if failed := err != nil; failed != fails || !strings.Contains(string(out), want) {
			t.Errorf("conftest: %v, want failure: %t, and %q:\n%s", err, fails, want, out)
		}
	}
	f := newFolder(t, string(config))
	judge(f, false, "2 tests, 2 passed")
	f.must(t, "apply", "-auto-approve")
	judge(f, false, "2 tests, 2 passed")
	for _, tt := range []struct {
		old, text string
		fails     bool
		want      string
	}{
		{`    w2 = "10.77.0.22"`, "", false, "2 tests, 2 passed"},
		{`    cp3 = "10.77.0.13"`, "", true, `FAIL - - main - node.cp["cp3"] is a control plane, and would be destroyed or replaced`},
		{`"1.36.3"`, `"1.37.0"`, false, "WARN - - main - cluster.demo is upgraded from 1.36.3 to 1.37.0"},
	} {
		changed := f.copy(t)
		changed.replace(t, tt.old, tt.text)
		judge(changed, tt.fails, tt.want)
	}
}

package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
)

const (
	commitA = "0123456789abcdef0123456789abcdef01234567"
	commitB = "89abcdef0123456789abcdef0123456789abcdef0123456789abcdef01234567"
)

// TestCommitIsReadFromRepository checks every way in which a repository names the commit that is
// checked out, and that anything else is no commit.
func TestCommitIsReadFromRepository(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "secret")
	put(t, outside, commitA)
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"no repository":       {map[string]string{}, ""},
		"a branch":            {map[string]string{".git/HEAD": "ref: refs/heads/main\n", ".git/refs/heads/main": commitA + "\n"}, commitA},
		"a branch of SHA-256": {map[string]string{".git/HEAD": "ref: refs/heads/a/b-c", ".git/refs/heads/a/b-c": commitB}, commitB},
		"no branch":           {map[string]string{".git/HEAD": commitA + "\n"}, commitA},
		"a packed branch": {map[string]string{
			".git/HEAD": "ref: refs/heads/main\n", ".git/packed-refs": "# pack-refs with: peeled\n" + strings.Repeat("f", 40) + " refs/heads/mainly\n" + commitA + " refs/heads/main\n^" + strings.Repeat("e", 40) + "\n",
		}, commitA},
		"a worktree": {map[string]string{
			".git": "gitdir: ../repo/.git/worktrees/x\n", "../repo/.git/worktrees/x/HEAD": "ref: refs/heads/x\n", "../repo/.git/worktrees/x/commondir": "../..\n",
			"../repo/.git/refs/heads/x": commitA + "\n",
		}, commitA},
		"no commit yet":         {map[string]string{".git/HEAD": "ref: refs/heads/main\n"}, ""},
		"another file as ref":   {map[string]string{".git/HEAD": "ref: refs/../../x\n", "x": commitA}, ""},
		"an absolute ref":       {map[string]string{".git/HEAD": "ref: " + outside}, ""},
		"text in place of it":   {map[string]string{".git/HEAD": "ref: refs/heads/main", ".git/refs/heads/main": "<script>" + commitA}, ""},
		"upper case":            {map[string]string{".git/HEAD": strings.ToUpper(commitA)}, ""},
		"a file that is no end": {map[string]string{".git/HEAD": "ref: refs/heads/main", ".git/packed-refs": strings.Repeat("x", 9<<20) + "\n" + commitA + " refs/heads/main\n"}, ""},
	} {
		dir := filepath.Join(t.TempDir(), "work")
		for path, text := range c.files {
			put(t, filepath.Join(dir, path), text)
		}
		if got := commitOf(t, filepath.Join(dir, "clusters", "prod")); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// TestCommitOfHostileRepository checks that a repository is read without running anything and
// without waiting: files that are FIFOs or links are not read.
func TestCommitOfHostileRepository(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ran := filepath.Join(dir, "ran")
	put(t, filepath.Join(dir, ".git", "config"), "[core]\n\tfsmonitor = touch "+ran+"\n\thooksPath = hooks\n\tsshCommand = touch "+ran+"\n")
	put(t, filepath.Join(dir, ".git", "hooks", "post-checkout"), "#!/bin/sh\ntouch "+ran+"\n")
	if err := syscall.Mkfifo(filepath.Join(dir, ".git", "HEAD"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := commitOf(t, dir); got != "" {
		t.Errorf("a FIFO is the commit %q", got)
	}
	if err := os.Remove(filepath.Join(dir, ".git", "HEAD")); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "elsewhere"), commitA)
	if err := os.Symlink("../elsewhere", filepath.Join(dir, ".git", "HEAD")); err != nil {
		t.Fatal(err)
	}
	if got := commitOf(t, dir); got != "" {
		t.Errorf("a link is the commit %q", got)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the repository ran a program")
	}
	if os.Geteuid() != 0 {
		return // only root can give files away
	}
	put(t, filepath.Join(dir, "sub", ".git", "HEAD"), commitA)
	if got := commitOf(t, filepath.Join(dir, "sub")); got != commitA {
		t.Errorf("got %q", got)
	}
	if err := os.Chown(filepath.Join(dir, "sub", ".git"), 65534, 65534); err != nil {
		t.Fatal(err)
	}
	if got := commitOf(t, filepath.Join(dir, "sub")); got != "" {
		t.Errorf("the repository of another user is at %q", got)
	}
}

func commitOf(t *testing.T, dir string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	a := &workspace.Workspace{Console: &console.Console{Env: &console.Env{Dir: dir}}}
	return a.Commit()
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

//go:build unix

package formatter

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestReplaceFileIsAtomic checks that the existing file is never half written, a link stays a link, and
// mode and owner are kept.
func TestReplaceFileIsAtomic(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, link, before := filepath.Join(dir, "main.hcl"), filepath.Join(dir, "link.hcl"), filepath.Join(dir, "before")
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(os.WriteFile(path, []byte("old"), 0o600))
	check(os.Chmod(path, 0o664))
	check(os.Symlink("main.hcl", link))
	check(os.Link(path, before)) // another process's open file
	owner := func(name string) *syscall.Stat_t {
		info, err := os.Lstat(name)
		check(err)
		return info.Sys().(*syscall.Stat_t)
	}
	if os.Geteuid() == 0 {
		check(os.Chown(path, 1, 2))
	}
	uid, gid := owner(path).Uid, owner(path).Gid
	if err := replaceFile(link, []byte("new"), keepOwner); err == nil || !strings.Contains(err.Error(), "it is a symbolic link, not a regular file") {
		t.Errorf("through a link: %v", err)
	}
	check(replaceFile(path, []byte("new"), keepOwner))
	for name, want := range map[string]string{path: "new", link: "new", before: "old"} {
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s has %q, %v; want %q", name, got, err, want)
		}
	}
	info, err := os.Lstat(path)
	check(err)
	if now := owner(path); info.Mode() != 0o664 || now.Uid != uid || now.Gid != gid {
		t.Errorf("the file has mode %s and belongs to %d:%d; want 0664 and %d:%d", info.Mode(), now.Uid, now.Gid, uid, gid)
	}
	if target, err := os.Readlink(link); err != nil || target != "main.hcl" {
		t.Errorf("the link is %q, %v", target, err)
	}
}

// TestReplaceFileKeepsForeignFile checks that a file whose owner cannot be kept is left as it is.
func TestReplaceFileKeepsForeignFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "main.hcl")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := replaceFile(path, []byte("new"), func(f *os.File, _ fs.FileInfo) error {
		return &fs.PathError{Op: "chown", Path: f.Name(), Err: syscall.EPERM}
	})
	const want = "it belongs to another user, and would be yours: operation not permitted. Have its owner format it"
	if err == nil || err.Error() != want || errors.As(err, new(*fs.PathError)) {
		t.Errorf("%v, want %s", err, want)
	}
	if got, _ := os.ReadFile(path); string(got) != "old" {
		t.Errorf("the file has %q", got)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("the folder has %v", left)
	}
}

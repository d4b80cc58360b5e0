package disk

import (
	"os"
	"path/filepath"
	"testing"
)

func TestLinkTree(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "deep", "copy")
	if err := os.Mkdir(filepath.Join(from, "private"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"private/shared": 0o640, "private/own": 0o600} {
		if err := os.WriteFile(filepath.Join(from, name), []byte(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("nowhere", filepath.Join(from, "link")); err != nil {
		t.Fatal(err)
	}
	if err := LinkTree(from, to, func(rel string) bool { return rel == "private/own" }); err != nil {
		t.Fatal(err)
	}
	for name, shared := range map[string]bool{"private/shared": true, "private/own": false} {
		a, errA := os.Stat(filepath.Join(from, name))
		b, errB := os.Stat(filepath.Join(to, name))
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if os.SameFile(a, b) != shared || a.Mode() != b.Mode() {
			t.Errorf("%s: shared %v, mode %v; want %v, %v", name, !shared, b.Mode(), shared, a.Mode())
		}
	}
	if dir, err := os.Stat(filepath.Join(to, "private")); err != nil || dir.Mode().Perm() != 0o700 {
		t.Errorf("folder: %v, %v", dir, err)
	}
	if target, err := os.Readlink(filepath.Join(to, "link")); err != nil || target != "nowhere" {
		t.Errorf("link: %q, %v", target, err)
	}
}

func TestExists(t *testing.T) {
	t.Parallel()
	link := filepath.Join(t.TempDir(), "link")
	if Exists(link) {
		t.Error("a missing path exists")
	}
	if err := os.Symlink("nowhere", link); err != nil {
		t.Fatal(err)
	}
	if !Exists(link) {
		t.Error("a dangling link does not exist")
	}
}

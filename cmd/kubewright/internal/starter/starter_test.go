package starter_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/starter"
)

func none(string) bool { return false }

// listed returns the paths of everything below a folder.
func listed(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if path != dir {
			out = append(out, strings.TrimPrefix(path, dir+string(filepath.Separator)))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestWriteRemovesWhatItWroteAfterAFailure(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "there"), 0o755); err != nil {
		t.Fatal(err)
	}
	// The last name is taken by the first file: it fails after the check.
	err := starter.Write(dir, []starter.File{{"a", []byte("a")}, {"there/b", nil}, {"c/d/e", nil}, {"a/f", nil}}, none)
	if err == nil || errors.As(err, new(*starter.InTheWayError)) {
		t.Errorf("a file below a file: %v", err)
	}
	if got := listed(t, dir); !slices.Equal(got, []string{"there"}) {
		t.Errorf("left behind: %v", got)
	}
}

func TestWriteNamesEverythingInTheWay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"a", "c", "state", "note"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := listed(t, dir)
	err := starter.Write(dir, []starter.File{{"a", []byte("a")}, {"b", nil}, {"c/d/e", nil}}, func(name string) bool { return name == "state" })
	refused, ok := errors.AsType[*starter.InTheWayError](err)
	if !ok || !slices.Equal(refused.Names, []string{"a", "c", "state"}) {
		t.Errorf("in the way: %v", err)
	}
	if got := listed(t, dir); !slices.Equal(got, before) {
		t.Errorf("the folder has %v, had %v", got, before)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "a")); err != nil || string(text) != "mine" {
		t.Errorf("a: %q, %v", text, err)
	}
}

func TestWriteFollowsNoLinkOutOfTheFolder(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "c")); err != nil {
		t.Fatal(err)
	}
	if err := starter.Write(dir, []starter.File{{"a", nil}, {"c/d", nil}}, none); err == nil || !strings.Contains(err.Error(), "escapes") {
		t.Errorf("a link out of the folder: %v", err)
	}
	if got := append(listed(t, outside), listed(t, dir)...); !slices.Equal(got, []string{"c"}) {
		t.Errorf("written: %v", got)
	}
}

package kubeadmtest

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

var keptGoldens = filepath.Join("..", "testdata", "oracle")

// names returns the goldens below a folder.
func names(t *testing.T, root string) []goldenName {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(root, "*", "*"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no goldens: %v", err)
	}
	var out []goldenName
	for _, dir := range dirs {
		out = append(out, goldenName{filepath.Base(filepath.Dir(dir)), filepath.Base(dir)})
	}
	return out
}

// TestGoldensHoldOnlyDifferences checks that no golden keeps a file that its base has in
// the same words, nor lists as absent what the base has not.
func TestGoldensHoldOnlyDifferences(t *testing.T) {
	t.Parallel()
	s := NewGoldens(keptGoldens)
	for _, n := range names(t, keptGoldens) {
		kept, err := s.difference(n)
		if err != nil {
			t.Fatal(err)
		}
		base, err := s.base(n)
		if err != nil {
			t.Fatal(err)
		}
		if least := between(base, kept.of(base)); !reflect.DeepEqual(least.files, kept.files) || !slices.Equal(least.absent, kept.absent) {
			t.Errorf("%s/%s keeps %d files and %d absent ones, where %d and %d differ from its base", n.version, n.name,
				len(kept.files), len(kept.absent), len(least.files), len(least.absent))
		}
	}
}

// TestWriteKeepsOtherGoldens checks that goldens that rest on one that is written read as
// before.
func TestWriteKeepsOtherGoldens(t *testing.T) {
	t.Parallel()
	for _, changed := range []goldenName{{baseVersion, baseCase}, {baseVersion, "args"}, {"1.35.8", baseCase}, {"1.35.8", "args"}} {
		t.Run(changed.version+"/"+changed.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			for _, n := range []goldenName{{baseVersion, baseCase}, {baseVersion, "args"}, {"1.35.8", baseCase}, {"1.35.8", "args"}, {"1.34.9", baseCase}, {"1.34.9", "args"}} {
				if err := os.CopyFS(filepath.Join(root, n.version, n.name), os.DirFS(filepath.Join(keptGoldens, n.version, n.name))); err != nil {
					t.Fatal(err)
				}
			}
			before := map[goldenName]map[string]string{}
			s := NewGoldens(root)
			for _, n := range names(t, root) {
				files, err := s.files(n)
				if err != nil {
					t.Fatal(err)
				}
				before[n] = files
			}
			g, err := s.Read(changed.version, changed.name)
			if err != nil {
				t.Fatal(err)
			}
			const manifest = "/etc/kubernetes/manifests/kube-apiserver.yaml"
			g.Init.Texts[manifest] += "# more\n"
			delete(g.Init.Texts, "/var/lib/kubelet/config.yaml")
			if err := s.Write(changed.version, changed.name, g); err != nil {
				t.Fatal(err)
			}
			before[changed]["init"+manifest] += "# more\n"
			delete(before[changed], "init/var/lib/kubelet/config.yaml")
			read := NewGoldens(root)
			for n, want := range before {
				if got, err := read.files(n); err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("%s/%s is not what it was: %d files, want %d; %v", n.version, n.name, len(got), len(want), err)
				}
			}
		})
	}
}

package cgroup

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	got := parse("9:name=systemd:/init.scope\n4:memory:/a:b\n2:cpu,cpuacct:/\n0::/\nnonsense\n")
	want := []Hierarchy{
		{"systemd", "none,name=systemd"}, {"memory", "memory"}, {"cpu,cpuacct", "cpu,cpuacct"}, {"unified", ""},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestPathOfPureV2(t *testing.T) {
	t.Parallel()
	if got := Group("lab-a").Path(Hierarchy{}, "cgroup.procs"); got != "/sys/fs/cgroup/lab-a/cgroup.procs" {
		t.Errorf("got %s", got)
	}
}

func TestReadPIDs(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "cgroup.procs")
	if pids, err := readPIDs(file); err != nil || pids != nil {
		t.Errorf("of a folder that is gone: %v, %v", pids, err)
	}
	// 0 stands for a process of another namespace, which must never be killed.
	if err := os.WriteFile(file, []byte("12\n0\n345\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if pids, err := readPIDs(file); err != nil || !slices.Equal(pids, []int{12, 345}) {
		t.Errorf("got %v, %v", pids, err)
	}
}

func TestRemoveTree(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "group")
	if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 { // what is gone is removed
		if err := removeTree(dir); err != nil {
			t.Fatal(err)
		}
	}
}

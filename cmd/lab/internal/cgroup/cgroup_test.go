package cgroup

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/kubewright/kubewright/cmd/lab/internal/disk"
)

func TestParseHierarchies(t *testing.T) {
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
		t.Errorf("of a removed folder: %v, %v", pids, err)
	}
	// 0 stands for a process of another namespace, which must never be killed.
	if err := os.WriteFile(file, []byte("12\n0\n345\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if pids, err := readPIDs(file); err != nil || !slices.Equal(pids, []int{12, 345}) {
		t.Errorf("got %v, %v", pids, err)
	}
}

func TestRemoveCgroupTree(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "group")
	if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a missing folder counts as removed
		if err := removeTree(dir); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFrozenProcessesAreKilled checks that processes that are frozen in a folder below, as by a killed runc,
// are killed too.
func TestFrozenProcessesAreKilled(t *testing.T) {
	t.Parallel()
	g := Group(fmt.Sprintf("kubewright-test-%d", os.Getpid()))
	trees, err := g.Create()
	if err != nil {
		t.Skip("no cgroup can be created here: ", err)
	}
	t.Cleanup(func() {
		if err := g.Remove(context.Background()); err != nil {
			t.Error(err)
		}
	})
	sleep := exec.Command("sleep", "1000")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	t.Cleanup(func() { <-ended })
	for _, h := range trees {
		inner := g.Path(h, "inner")
		if err := os.Mkdir(inner, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"cpuset.cpus", "cpuset.mems"} {
			if value, err := os.ReadFile(g.Path(h, name)); err == nil && h.Dir != "" {
				_ = os.WriteFile(filepath.Join(inner, name), value, 0)
			}
		}
		if err := os.WriteFile(filepath.Join(inner, "cgroup.procs"), []byte(strconv.Itoa(sleep.Process.Pid)), 0); err != nil {
			t.Fatal(err)
		}
		if file, value := h.freezer(true); file != "" && disk.Exists(filepath.Join(inner, file)) {
			if err := os.WriteFile(filepath.Join(inner, file), []byte(value), 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	go func() { ended <- sleep.Wait() }()
	if err := g.Kill(t.Context()); err != nil {
		t.Error(err)
		for _, h := range trees {
			g.thaw(h)
		}
		_ = sleep.Process.Kill()
	}
}

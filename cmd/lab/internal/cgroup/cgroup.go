// Package cgroup finds, freezes and kills the processes of a lab's host by the name of its
// cgroup, on machines with cgroup v1, v2 or both.
package cgroup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kubewright/kubewright/cmd/lab/internal/disk"
	"github.com/kubewright/kubewright/cmd/lab/internal/process"
)

const root = "/sys/fs/cgroup"

// A Hierarchy is one cgroup tree of the machine. With pure cgroup v2 there is one; with v1 there
// is one per controller, systemd's, and often an unused v2 tree. Processes must enter their
// folder in every one of them before they get a cgroup namespace, otherwise the hosts' systemds
// share a tree.
type Hierarchy struct {
	Dir     string // folder below root; empty for pure v2
	Options string // mount options inside the host; empty if not mounted there
}

// Hierarchies returns the machine's cgroup trees, from lines of
// /proc/self/cgroup: "4:memory:/", "1:name=systemd:/", "0::/".
func Hierarchies() ([]Hierarchy, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(root, &stat); err != nil {
		return nil, fmt.Errorf("cannot look at %s: %w", root, err)
	}
	if stat.Type == unix.CGROUP2_SUPER_MAGIC {
		return []Hierarchy{{}}, nil
	}
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	found := parse(string(text))
	var mounted []Hierarchy
	for _, h := range found {
		if disk.Exists(filepath.Join(root, h.Dir)) {
			mounted = append(mounted, h)
		}
	}
	return mounted, nil
}

func parse(text string) []Hierarchy {
	var found []Hierarchy
	for line := range strings.Lines(text) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		switch controllers := fields[1]; {
		case controllers == "":
			found = append(found, Hierarchy{Dir: "unified"})
		case strings.HasPrefix(controllers, "name="):
			found = append(found, Hierarchy{strings.TrimPrefix(controllers, "name="), "none," + controllers})
		default:
			found = append(found, Hierarchy{controllers, controllers})
		}
	}
	return found
}

// A Group is the name of a lab's folders in every Hierarchy, one per host.
type Group string

func (g Group) Path(h Hierarchy, elem ...string) string {
	return filepath.Join(append([]string{root, h.Dir, string(g)}, elem...)...)
}

// Create creates the folders. A new cpuset has no processors until they are assigned.
func (g Group) Create() ([]Hierarchy, error) {
	trees, err := Hierarchies()
	if err != nil {
		return nil, err
	}
	for _, h := range trees {
		if h.Dir == "" {
			if err := delegateControllers(); err != nil {
				return nil, err
			}
		}
		if err := os.MkdirAll(g.Path(h), 0o755); err != nil {
			return nil, err
		}
		for _, name := range []string{"cpuset.cpus", "cpuset.mems"} {
			if value, err := os.ReadFile(filepath.Join(root, h.Dir, name)); err == nil && h.Dir != "" {
				if err := os.WriteFile(g.Path(h, name), value, 0); err != nil {
					return nil, fmt.Errorf("cannot give cgroup %s processors: %w", g, err)
				}
			}
		}
	}
	return trees, nil
}

// delegateControllers enables all controllers for folders below the root of a pure v2 tree.
func delegateControllers() error {
	all, err := os.ReadFile(filepath.Join(root, "cgroup.controllers"))
	if err != nil {
		return err
	}
	for name := range strings.FieldsSeq(string(all)) {
		// One by one: an unavailable controller must not prevent the others.
		_ = os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte("+"+name), 0)
	}
	return nil
}

// Processes returns the IDs of all processes in the tree. Each process is in some folder of every
// Hierarchy, so it suffices to read one: systemd's.
func (g Group) Processes() ([]int, error) {
	trees, err := Hierarchies()
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, h := range trees {
		if h.Dir != "" && h.Dir != "systemd" {
			continue
		}
		err := filepath.WalkDir(g.Path(h), func(name string, entry fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // removed meanwhile
			}
			if err != nil || entry.Name() != "cgroup.procs" {
				return err
			}
			more, err := readPIDs(name)
			pids = append(pids, more...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return pids, nil
}

// In returns the IDs of the processes in one folder of the tree.
func (g Group) In(h Hierarchy, folder string) ([]int, error) {
	return readPIDs(g.Path(h, folder, "cgroup.procs"))
}

func readPIDs(file string) ([]int, error) {
	f, err := os.Open(file)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, err
	}
	defer f.Close()
	var pids []int
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if pid, err := strconv.Atoi(lines.Text()); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	if err := lines.Err(); err != nil && !errors.Is(err, syscall.ENODEV) { // the folder was removed
		return nil, err
	}
	return pids, nil
}

// Kill kills all processes in the tree and waits until none is left.
func (g Group) Kill(ctx context.Context) error {
	trees, err := Hierarchies()
	if err != nil {
		return err
	}
	return process.Until(ctx, 20*time.Second, 10*time.Millisecond, "the processes of "+string(g)+" to end", func(context.Context) error {
		pids, err := g.Processes()
		if err != nil || len(pids) == 0 {
			return err
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may be gone by now
		}
		for _, h := range trees {
			g.thaw(h)
		}
		return fmt.Errorf("%d still run", len(pids))
	})
}

// thaw thaws every folder of the tree: a process that is frozen in cgroup v1 does not die, and a
// runc that is killed while it changes a container leaves it frozen.
func (g Group) thaw(h Hierarchy) {
	file, value := h.freezer(false)
	if file == "" {
		return
	}
	_ = filepath.WalkDir(g.Path(h), func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			_ = os.WriteFile(filepath.Join(name, file), []byte(value), 0) // it may be gone by now
		}
		return nil
	})
}

// freezer returns the file that freezes or thaws the processes of a folder, and the value to
// write; empty for a tree without a freezer.
func (h Hierarchy) freezer(frozen bool) (file, value string) {
	switch h.Dir {
	case "":
		return "cgroup.freeze", map[bool]string{true: "1", false: "0"}[frozen]
	case "freezer":
		return "freezer.state", map[bool]string{true: "FROZEN", false: "THAWED"}[frozen]
	}
	return "", ""
}

// Freeze freezes or thaws all processes of the tree.
func (g Group) Freeze(frozen bool) error {
	trees, err := Hierarchies()
	if err != nil {
		return err
	}
	for _, h := range trees {
		file, value := h.freezer(frozen)
		if file == "" {
			continue
		}
		err := os.WriteFile(g.Path(h, file), []byte(value), 0)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot freeze or thaw %s: %w", g, err)
		}
	}
	return nil
}

// Remove removes the folders, which must not contain processes.
func (g Group) Remove(ctx context.Context) error {
	trees, err := Hierarchies()
	if err != nil {
		return err
	}
	for _, h := range trees {
		err := process.Until(ctx, 10*time.Second, 10*time.Millisecond, "cgroup "+g.Path(h)+" to be free", func(context.Context) error {
			return removeTree(g.Path(h))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// removeTree removes cgroup folders, deepest first. Their files cannot and need not be removed.
func removeTree(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := removeTree(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	err = syscall.Rmdir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Named returns all groups whose name starts with a prefix.
func Named(prefix string) ([]Group, error) {
	trees, err := Hierarchies()
	if err != nil {
		return nil, err
	}
	seen := map[Group]bool{}
	var found []Group
	for _, h := range trees {
		matches, err := filepath.Glob(filepath.Join(root, h.Dir, prefix+"*"))
		if err != nil {
			return nil, err
		}
		for _, m := range matches {
			if g := Group(filepath.Base(m)); !seen[g] {
				seen[g] = true
				found = append(found, g)
			}
		}
	}
	return found, nil
}

// Frozen reports whether the tree's processes are frozen.
func (g Group) Frozen() bool {
	trees, err := Hierarchies()
	if err != nil {
		return false
	}
	for _, h := range trees {
		if text, err := os.ReadFile(g.Path(h, "freezer.state")); err == nil {
			return strings.TrimSpace(string(text)) != "THAWED"
		}
		if text, err := os.ReadFile(g.Path(h, "cgroup.freeze")); err == nil && h.Dir == "" {
			return strings.TrimSpace(string(text)) == "1"
		}
	}
	return false
}

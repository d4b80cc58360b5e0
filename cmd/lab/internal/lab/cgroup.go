package lab

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
)

const cgroupRoot = "/sys/fs/cgroup"

// A hierarchy is one cgroup tree of the machine. With pure cgroup v2 there is
// one; with v1 one per controller, systemd's, and often an unused v2 tree
// beside. Processes must enter their folder in every one of them before they
// get a cgroup namespace, or the hosts' systemds share a tree.
type hierarchy struct {
	dir     string // folder below cgroupRoot; empty for pure v2
	options string // mount options inside the host; empty if not mounted there
}

// hierarchies answers the machine's cgroup trees, from lines of
// /proc/self/cgroup: "4:memory:/", "1:name=systemd:/", "0::/".
func hierarchies() ([]hierarchy, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(cgroupRoot, &stat); err != nil {
		return nil, fmt.Errorf("cannot look at %s: %w", cgroupRoot, err)
	}
	if stat.Type == unix.CGROUP2_SUPER_MAGIC {
		return []hierarchy{{}}, nil
	}
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	found := parseHierarchies(string(text))
	var mounted []hierarchy
	for _, h := range found {
		if exists(filepath.Join(cgroupRoot, h.dir)) {
			mounted = append(mounted, h)
		}
	}
	return mounted, nil
}

func parseHierarchies(text string) []hierarchy {
	var found []hierarchy
	for line := range strings.Lines(text) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		switch controllers := fields[1]; {
		case controllers == "":
			found = append(found, hierarchy{dir: "unified"})
		case strings.HasPrefix(controllers, "name="):
			found = append(found, hierarchy{strings.TrimPrefix(controllers, "name="), "none," + controllers})
		default:
			found = append(found, hierarchy{controllers, controllers})
		}
	}
	return found
}

// cgroup is the name of a lab's folders in every hierarchy, one per host.
type cgroup string

func (g cgroup) path(h hierarchy, elem ...string) string {
	return filepath.Join(append([]string{cgroupRoot, h.dir, string(g)}, elem...)...)
}

// create makes the folders. A new cpuset has no processors until it is told.
func (g cgroup) create() ([]hierarchy, error) {
	trees, err := hierarchies()
	if err != nil {
		return nil, err
	}
	for _, h := range trees {
		if h.dir == "" {
			if err := delegateControllers(); err != nil {
				return nil, err
			}
		}
		if err := os.MkdirAll(g.path(h), 0o755); err != nil {
			return nil, err
		}
		for _, name := range []string{"cpuset.cpus", "cpuset.mems"} {
			if value, err := os.ReadFile(filepath.Join(cgroupRoot, h.dir, name)); err == nil && h.dir != "" {
				if err := os.WriteFile(g.path(h, name), value, 0); err != nil {
					return nil, fmt.Errorf("cannot give cgroup %s processors: %w", g, err)
				}
			}
		}
	}
	return trees, nil
}

// delegateControllers lets folders below the root of a pure v2 tree use all
// controllers.
func delegateControllers() error {
	all, err := os.ReadFile(filepath.Join(cgroupRoot, "cgroup.controllers"))
	if err != nil {
		return err
	}
	for name := range strings.FieldsSeq(string(all)) {
		// One by one: a controller that cannot be had is no reason to go without the others.
		_ = os.WriteFile(filepath.Join(cgroupRoot, "cgroup.subtree_control"), []byte("+"+name), 0)
	}
	return nil
}

// processes answers the ids of all processes in the tree. Each process is in
// some folder of every hierarchy, so one hierarchy tells all: the one systemd
// works with.
func (g cgroup) processes() ([]int, error) {
	trees, err := hierarchies()
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, h := range trees {
		if h.dir != "" && h.dir != "systemd" {
			continue
		}
		err := filepath.WalkDir(g.path(h), func(name string, entry fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // gone meanwhile
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
	if err := lines.Err(); err != nil && !errors.Is(err, syscall.ENODEV) { // the folder went away
		return nil, err
	}
	return pids, nil
}

// kill kills everything in the tree and waits until nothing is left.
func (g cgroup) kill(ctx context.Context) error {
	if err := g.freeze(false); err != nil {
		return err
	}
	return until(ctx, 20*time.Second, 10*time.Millisecond, "the processes of "+string(g)+" to end", func(context.Context) error {
		pids, err := g.processes()
		if err != nil || len(pids) == 0 {
			return err
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may be gone by now
		}
		return fmt.Errorf("%d still run", len(pids))
	})
}

// freeze stops all processes of the tree where they are, or lets them go on.
func (g cgroup) freeze(frozen bool) error {
	trees, err := hierarchies()
	if err != nil {
		return err
	}
	for _, h := range trees {
		file, value := "cgroup.freeze", map[bool]string{true: "1", false: "0"}[frozen]
		switch h.dir {
		case "":
		case "freezer":
			file, value = "freezer.state", map[bool]string{true: "FROZEN", false: "THAWED"}[frozen]
		default:
			continue
		}
		err := os.WriteFile(g.path(h, file), []byte(value), 0)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot freeze or thaw %s: %w", g, err)
		}
	}
	return nil
}

// remove removes the folders, which must be without processes.
func (g cgroup) remove(ctx context.Context) error {
	trees, err := hierarchies()
	if err != nil {
		return err
	}
	for _, h := range trees {
		err := until(ctx, 10*time.Second, 10*time.Millisecond, "cgroup "+g.path(h)+" to be free", func(context.Context) error {
			return removeTree(g.path(h))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// removeTree removes cgroup folders, deepest first. Their files cannot be
// removed and need not be.
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

// cgroupsNamed answers all groups whose name starts with a prefix.
func cgroupsNamed(prefix string) ([]cgroup, error) {
	trees, err := hierarchies()
	if err != nil {
		return nil, err
	}
	seen := map[cgroup]bool{}
	var found []cgroup
	for _, h := range trees {
		matches, err := filepath.Glob(filepath.Join(cgroupRoot, h.dir, prefix+"*"))
		if err != nil {
			return nil, err
		}
		for _, m := range matches {
			if g := cgroup(filepath.Base(m)); !seen[g] {
				seen[g] = true
				found = append(found, g)
			}
		}
	}
	return found, nil
}

// frozen tells whether the tree's processes are stopped.
func (g cgroup) frozen() bool {
	trees, err := hierarchies()
	if err != nil {
		return false
	}
	for _, h := range trees {
		if text, err := os.ReadFile(g.path(h, "freezer.state")); err == nil {
			return strings.TrimSpace(string(text)) != "THAWED"
		}
		if text, err := os.ReadFile(g.path(h, "cgroup.freeze")); err == nil && h.dir == "" {
			return strings.TrimSpace(string(text)) == "1"
		}
	}
	return false
}

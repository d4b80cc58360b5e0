package verdict

import (
	"bufio"
	"context"
	_ "embed" // the script that makes a root
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/kubewright/kubewright/cmd/lab/internal/build"
	"github.com/kubewright/kubewright/cmd/lab/internal/cgroup"
)

//go:embed box.sh
var boxScript string

// parallel is how many components run at the same time.
const parallel = 2

// A Lab runs the components of a version.
type Lab struct {
	// Minor is the minor version of its Kubernetes.
	Minor    int
	version  string
	dir      string
	programs string // a folder with all programs
	lower    string
	base     map[string][]string // the flags that kubeadm writes, by component
	cells    chan *cell
}

// A cell is where one component runs at a time: two networks, one with an API beside it.
type cell struct {
	dir     string
	group   cgroup.Group
	trees   []cgroup.Hierarchy
	holders [2]*exec.Cmd
}

// NewLab prepares a lab of a release, with programs that it builds where they are missing.
func NewLab(ctx context.Context, cache *build.Cache, r build.Release, dir string) (*Lab, error) {
	rootfs, err := cache.Rootfs(ctx)
	if err != nil {
		return nil, err
	}
	programs, err := cache.Programs(ctx, r, append(slices.Clone(Components), "kubeadm", "containerd")...)
	if err != nil {
		return nil, err
	}
	minor, err := strconv.Atoi(strings.Split(r.Kubernetes, ".")[1])
	if err != nil {
		return nil, err
	}
	l := &Lab{Minor: minor, version: r.Kubernetes, dir: dir, programs: filepath.Join(dir, "programs"), cells: make(chan *cell, parallel)}
	if err := os.MkdirAll(l.programs, 0o755); err != nil {
		return nil, err
	}
	for name, path := range programs {
		if err := os.Link(path, filepath.Join(l.programs, name)); err != nil {
			if err := copyFile(path, filepath.Join(l.programs, name)); err != nil {
				return nil, err
			}
		}
	}
	for i := range parallel {
		c, err := newCell(filepath.Join(dir, "cell"+strconv.Itoa(i)), cgroup.Group(fmt.Sprintf("kubewright-verdict-%d-%d", os.Getpid(), i)))
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
		l.cells <- c
	}
	l.lower = rootfs.Base
	if err := l.prepare(ctx); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o755)
}

// Close removes the lab.
func (l *Lab) Close() error {
	var errs []error
	for len(l.cells) > 0 {
		errs = append(errs, (<-l.cells).close())
	}
	return errors.Join(append(errs, os.RemoveAll(l.dir))...)
}

func newCell(dir string, group cgroup.Group) (*cell, error) {
	c := &cell{dir: dir, group: group}
	for _, sub := range []string{"box", "shared"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, err
		}
	}
	var err error
	if c.trees, err = group.Create(); err != nil {
		return nil, err
	}
	const network = "ip link set lo up; ip link add eth0 type veth peer name eth1; ip link set eth1 up; ip addr add 10.0.0.2/24 dev eth0; ip link set eth0 up; ip route add default via 10.0.0.1; echo ready; exec cat"
	for i := range c.holders {
		cmd := exec.Command("unshare", "--net", "sh", "-ec", network)
		_, errIn := cmd.StdinPipe() // cat ends with this process
		out, err := cmd.StdoutPipe()
		if err := errors.Join(err, errIn); err != nil {
			return nil, err
		}
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		c.holders[i] = cmd
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
			return nil, fmt.Errorf("cannot make a network: %q %w", line, err)
		}
	}
	return c, nil
}

func (c *cell) close() error {
	for _, h := range c.holders {
		if h != nil {
			_ = h.Process.Kill() // nothing of it is kept
			_ = h.Wait()
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return errors.Join(c.group.Kill(ctx), c.group.Remove(ctx))
}

// inNetwork calls f on a thread that is in one of the networks of the cell.
func (c *cell) inNetwork(number int, f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine, since it is not unlocked
		fd, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", c.holders[number].Process.Pid))
		if err == nil {
			err = unix.Setns(int(fd.Fd()), unix.CLONE_NEWNET)
			fd.Close()
		}
		if err == nil {
			err = f()
		}
		done <- err
	}()
	return <-done
}

// command returns a command that runs a program in a cell.
func (l *Lab) command(c *cell, network int, env []string, args ...string) *exec.Cmd {
	var enter, options []string
	for _, h := range c.trees {
		enter = append(enter, c.group.Path(h, "cgroup.procs"))
		if h.Dir == "" {
			options = []string{"unified"}
			break
		}
		if h.Options != "" {
			options = append(options, h.Dir+"="+h.Options)
		}
	}
	script := "for f in " + strings.Join(enter, " ") + "; do echo $$ > $f; done; exec nsenter --net=/proc/" + strconv.Itoa(c.holders[network].Process.Pid) +
		"/ns/net unshare --mount --pid --uts --ipc --cgroup --fork --kill-child sh -c \"$BOX_SCRIPT\" box \"$@\""
	cmd := exec.Command("nice", append([]string{"-n", "15", "sh", "-c", script, "enter"}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Env = append([]string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "BOX_SCRIPT=" + boxScript, "LOWER=" + l.lower,
		"BOX=" + filepath.Join(c.dir, "box"), "SHARED=" + filepath.Join(c.dir, "shared"), "PROGRAMS=" + l.programs, "UPPER=", "BEFORE=",
		"CGROUPS=" + strings.Join(options, " "),
	}, env...)
	return cmd
}

// Run asks the components about all mutations.
func (l *Lab) Run(ctx context.Context, mutations []Mutation, each func(Verdict)) ([]Verdict, error) {
	out := make([]Verdict, len(mutations))
	runs, ctx := errgroup.WithContext(ctx)
	runs.SetLimit(parallel)
	for i, m := range mutations {
		runs.Go(func() error {
			c := <-l.cells
			defer func() { l.cells <- c }()
			v, err := l.ask(ctx, c, m)
			out[i] = v
			if each != nil {
				each(v)
			}
			return err
		})
	}
	return out, runs.Wait()
}

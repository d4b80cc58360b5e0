package lab

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/kubewright/kubewright/cmd/lab/internal/cgroup"
	"github.com/kubewright/kubewright/cmd/lab/internal/process"
)

// Role is the intended role of a host. The lab itself only uses it to name hosts and to configure
// the balancer's backends.
type Role string

// The two roles.
const (
	ControlPlane Role = "control-plane"
	Worker       Role = "worker"
)

// A Host is one machine of a lab.
type Host struct {
	Name string `json:"name"`
	Role Role   `json:"role"`
	// Addresses has one address per family, Pods one range per family, the first family first.
	Addresses []netip.Addr   `json:"addresses"`
	Pods      []netip.Prefix `json:"pods"`
}

// Address returns the host's address of the first family.
func (h Host) Address() netip.Addr { return h.Addresses[0] }

// guest is the representation of a host on this machine: a folder, a network namespace, and
// processes in a cgroup.
type guest struct {
	Host
	lab *layout
}

// dir returns a path in the host's folder.
func (g guest) dir(elem ...string) string {
	return g.lab.path(append([]string{"hosts", g.Name}, elem...)...)
}

// up creates the host and boots it.
func (g guest) up(ctx context.Context) error {
	if err := g.seed(); err != nil {
		return fmt.Errorf("cannot make the folders of host %s: %w", g.Name, err)
	}
	if err := g.networkUp(ctx); err != nil {
		return fmt.Errorf("cannot make the network of host %s: %w", g.Name, err)
	}
	return g.boot(ctx)
}

// bootScript mounts the host's file systems and becomes its init.
//
//go:embed files/boot.sh
var bootScript string

// bootTimeout is generous: five hosts on two busy cores boot in a few seconds.
const bootTimeout = 2 * time.Minute

// boot starts a host whose network and folder exist, and waits until its systemd has started
// everything and its sshd answers.
func (g guest) boot(ctx context.Context) error {
	ended, err := g.start()
	if err != nil {
		return fmt.Errorf("cannot start host %s: %w", g.Name, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-ended:
			cancel() // nothing to wait for
		case <-ctx.Done():
		}
	}()
	err = process.Until(ctx, bootTimeout, 50*time.Millisecond, "host "+g.Name, func(ctx context.Context) error {
		return g.ready(ctx)
	})
	if err != nil {
		console, _ := os.ReadFile(g.dir("console.log"))
		return fmt.Errorf("%w\nits console says:\n%s", err, process.Tail(string(console), process.TailLines))
	}
	return nil
}

// start starts the host's processes. The channel is closed when they have ended.
func (g guest) start() (ended <-chan struct{}, err error) {
	trees, err := cgroup.Hierarchies()
	if err != nil {
		return nil, err
	}
	mounts := []string{"unified"} // for a machine with cgroup v2 only
	if trees[0].Dir != "" {
		mounts = nil
	}
	for _, t := range trees {
		if t.Options != "" {
			mounts = append(mounts, t.Dir+"="+t.Options)
		}
	}
	env := []string{
		"PATH=" + searchPath,
		"HOST_DIR=" + g.dir(),
		"HOST_NAME=" + g.Name,
		"LOWER=" + strings.Join(g.lab.record.Layers, ":"),
		"CGROUPS=" + strings.Join(mounts, " "),
	}
	return detach(g.lab.names().cgroup(g.Name), g.dir("console.log"), env,
		"nsenter", "--net="+namespaceFile(g.lab.names().namespace(g.Name)),
		"unshare", "--mount", "--pid", "--uts", "--ipc", "--cgroup", "--fork", "--kill-child",
		"/bin/sh", "-c", bootScript)
}

// ready returns an error while a host is not ready.
func (g guest) ready(ctx context.Context) error {
	// A degraded system has failed units. That is for the caller to see, and no reason to wait:
	// it does not change without intervention.
	out, err := g.exec(ctx, "", "systemctl", "is-system-running")
	if state := strings.TrimSpace(string(out)); state != "running" && state != "degraded" {
		return fmt.Errorf("system is %q: %w", state, err)
	}
	return greets(ctx, g.Address())
}

// greets reads the first line of the host's sshd.
func greets(ctx context.Context, address netip.Addr) error {
	var dialer net.Dialer
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	conn, err := dialer.DialContext(ctx, "tcp", netip.AddrPortFrom(address, 22).String())
	if err != nil {
		return err
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil && !strings.HasPrefix(line, "SSH-") {
		err = fmt.Errorf("not an SSH server: %q", line)
	}
	return err
}

// errDown is the error for entering a host that is down.
var errDown = errors.New("the host is not running")

// pid1 returns the ID, in our namespace, of a host's init: the process of the host's cgroup that
// is 1 in exactly one inner process namespace. (The first process of a container on the host is 1
// in a deeper one.)
func (g guest) pid1() (int, error) {
	trees, err := cgroup.Hierarchies()
	if err != nil {
		return 0, err
	}
	group := g.lab.names().cgroup(g.Name)
	for _, h := range trees {
		if h.Dir != "" && h.Dir != "systemd" {
			continue
		}
		for _, folder := range []string{"init.scope", "."} {
			pids, err := group.In(h, folder)
			if err != nil {
				return 0, err
			}
			for _, pid := range pids {
				if isInit(pid) {
					return pid, nil
				}
			}
		}
	}
	return 0, errDown
}

// isInit reports whether a process is a host's systemd, from its name and the
// line "NSpid: 4711 1" of its status.
func isInit(pid int) bool {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return false
	}
	var name string
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, ":")
		fields := strings.Fields(value)
		switch {
		case key == "Name" && len(fields) == 1:
			name = fields[0]
		case key == "NSpid":
			return name == "systemd" && len(fields) == 2 && fields[1] == "1"
		}
	}
	return false
}

// command prepares a command that runs on the host; see hosts.Command.
func (g guest) command(ctx context.Context, argv ...string) (*exec.Cmd, error) {
	pid, err := g.pid1()
	if err != nil {
		return nil, fmt.Errorf("cannot enter host %s: %w", g.Name, err)
	}
	args := append([]string{"--target", strconv.Itoa(pid), "--all", "--"}, argv...)
	cmd := exec.CommandContext(ctx, "nsenter", args...)
	cmd.Env = []string{
		"PATH=" + searchPath,
		"HOME=/root", "USER=root", "LOGNAME=root", "SHELL=/bin/bash", "LANG=C.UTF-8",
	}
	process.KillGroupOnCancel(cmd)
	return cmd, nil
}

// exec runs a command on the host with a standard input and returns its output.
func (g guest) exec(ctx context.Context, input string, argv ...string) ([]byte, error) {
	cmd, err := g.command(ctx, argv...)
	if err != nil {
		return nil, err
	}
	if input != "" {
		cmd.Stdin = strings.NewReader(input)
	}
	out, err := process.Output(cmd)
	if err != nil {
		return out, fmt.Errorf("host %s: %w", g.Name, err)
	}
	return out, nil
}

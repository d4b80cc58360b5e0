package shell

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kubewright/kubewright/providers/hosttest"
)

// TestLostContainerdShimIsKilled checks that a pod's shim that containerd has lost track of is killed, and no
// other; none if containerd has a container, or cannot be asked.
func TestLostContainerdShimIsKilled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ctr, socket, namespace string
		ends, killed           bool
	}{
		"lost":                 {ctr: "exit 0", socket: "run/containerd/containerd.sock", namespace: "k8s.io", killed: true},
		"ends by itself":       {ctr: "exit 0", socket: "run/containerd/containerd.sock", namespace: "k8s.io", ends: true},
		"another container":    {ctr: "echo 4711", socket: "run/containerd/containerd.sock", namespace: "k8s.io"},
		"containerd is silent": {ctr: "exit 1", socket: "run/containerd/containerd.sock", namespace: "k8s.io"},
		"another namespace":    {ctr: "exit 0", socket: "run/containerd/containerd.sock", namespace: "moby"},
		"another containerd":   {ctr: "exit 0", socket: "run/docker/containerd/containerd.sock", namespace: "k8s.io"},
		"without its own tool": {socket: "run/containerd/containerd.sock", namespace: "k8s.io"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"bin/sleep": "exec /bin/sleep 0.002\n"}
			if c.ctr != "" {
				files["bin/ctr"] = c.ctr + "\n"
			}
			root := swapRoot(t, files)
			put := func(err error) {
				if err != nil {
					t.Fatal(err)
				}
			}
			put(os.MkdirAll(filepath.Join(root, "run/containerd"), 0o755))
			put(os.MkdirAll(filepath.Join(root, "var"), 0o755))
			put(os.Symlink(filepath.Join(root, "run"), filepath.Join(root, "var/run")))
			shim := lostShim(t, "-namespace", c.namespace, "-id", "c0ffee", "-address", filepath.Join(root, c.socket))
			ended := make(chan error, 1)
			if c.ends {
				if err := shim.Process.Signal(syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
			}
			go func() { ended <- shim.Wait() }()
			sh := exec.Command("sh", "-c", "kw_n="+testNonce+"\nkw_r=\n"+preludeScript+performScript+runtimeScript+machineScript+processScript+"kw_shims "+Quote(filepath.Join(root, "var/run/containerd/containerd.sock"))+"\n")
			sh.Env = []string{"PATH=" + root + "/bin:/usr/bin:/bin"}
			if out, err := sh.CombinedOutput(); err != nil || len(out) != 0 {
				t.Fatalf("%v: %s", err, out)
			}
			switch alive := alive(shim.Process.Pid); {
			case !c.killed && !c.ends:
				if !alive {
					t.Error("it was killed")
				}
			case alive:
				t.Error("it still runs")
			default:
				err := <-ended
				status := err.(*exec.ExitError).Sys().(syscall.WaitStatus)
				if want := map[bool]syscall.Signal{true: syscall.SIGKILL, false: syscall.SIGTERM}[c.killed]; status.Signal() != want {
					t.Errorf("it ended with %v, want %v", status.Signal(), want)
				}
			}
		})
	}
}

// lostShim returns a process that looks like a shim of containerd.
func lostShim(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	program := filepath.Join(t.TempDir(), "containerd-shim-runc-v2")
	hosttest.WriteProgram(t, program, "#!/bin/sh\nread line\n")
	cmd := exec.Command(program, args...)
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	for deadline := time.Now().Add(10 * time.Second); ; {
		comm, err := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/comm")
		if err == nil && string(comm) == "containerd-shim\n" {
			return cmd
		}
		if time.Now().After(deadline) {
			t.Fatalf("its name is %q: %v", comm, err)
		}
	}
}

// alive reports whether a process runs and is not a zombie.
func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	return err == nil && !strings.Contains(string(stat), "State:\tZ")
}

package shell

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/kubewright/kubewright/providers/diagnosis"
)

// The clients of a host whose units run or are masked, whose runtime does not serve the CRI, and whose
// disk has no inode left, as crictl 1.36, systemd 252 and coreutils 9 print it.
var refusingHost = map[string]string{
	"bin/systemctl": `case "$*" in
*containerd*) printf 'LoadState=loaded\nUnitFileState=disabled\nActiveState=active\nSubState=running\nMainPID=42\n' ;;
*kubelet*) printf 'LoadState=masked\nUnitFileState=masked\nActiveState=inactive\nSubState=dead\n' ;;
*) printf 'LoadState=not-found\nActiveState=inactive\n' ;;
esac
`,
	"bin/journalctl": `case "$*" in
*_PID=42*) printf 'level=info msg=fine\nlevel=error msg="first 1"\nlevel=error msg="last"\nlevel=error msg="first 2"\n' ;;
*containerd*) printf 'level=warning msg="failed to load plugin" error="no snapshotter" id=io.containerd.grpc.v1.cri\n' ;;
esac
`,
	"bin/crictl": `echo 'unknown service runtime.v1.RuntimeService' >&2; exit 1
`,
	"bin/df": `case "$*" in
*-i*) printf 'Filesystem Inodes IUsed IFree IUse%% Mounted on\n/dev/vda 100 100 0 100%% /\n' ;;
*) printf 'Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/vda 100 50 50000000 50%% /\n' ;;
esac
`,
}

func TestDiagnosisOfHostThatMakesNoContainers(t *testing.T) {
	t.Parallel()
	root := runtimeRoot(t, refusingHost)
	for _, dir := range []string{"var/lib/etcd", "etc/kubernetes/manifests"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("none", filepath.Join(root, "etc/kubernetes/manifests/etcd.yaml")); err != nil {
		t.Fatal(err)
	}
	body := ""
	for _, u := range diagnosis.Units() {
		body += call("kw_unit_log", u, "200")
	}
	body += call("kw_disks", "/var/lib/etcd", "/var/lib/none") + call("kw_manifests") + call("kw_containers", diagnosis.Namespace, "200")
	r := diagnosed(t, root, body)
	var states []string
	for _, u := range r.Units {
		states = append(states, u.Name+" "+u.Load+" "+u.File)
	}
	for _, c := range []struct{ what, got, want string }{
		{"units", strings.Join(states, ", "), "containerd.service loaded disabled, kubelet.service masked masked"},
		{"errors", strings.Join(r.Units[0].Errors, "|"), `level=error msg="last"|level=error msg="first 2"`},
		{"refused", strings.Join(r.Refused, "|"), `level=warning msg="failed to load plugin" error="no snapshotter" id=io.containerd.grpc.v1.cri|unknown service runtime.v1.RuntimeService`},
		{"manifests", strings.Join(r.Manifests, " "), "etcd"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", c.what, c.got, c.want)
		}
	}
	if want := (diagnosis.Disk{Path: "/var/lib/etcd", Free: 50000000 << 10}); len(r.Disks) != 1 || r.Disks[0] != want {
		t.Errorf("disks %+v, want %+v", r.Disks, want)
	}
}

// TestDiagnosisOfStoppedRuntime checks that a runtime whose process a signal has stopped is named, and is
// not asked for its containers: it would not answer.
func TestDiagnosisOfStoppedRuntime(t *testing.T) {
	t.Parallel()
	sleeper := exec.Command("sleep", "600")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sleeper.Process.Kill(); _ = sleeper.Wait() }()
	if err := sleeper.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	root := runtimeRoot(t, map[string]string{
		"bin/systemctl": `printf 'LoadState=loaded\nActiveState=active\nSubState=running\nMainPID=` + strconv.Itoa(sleeper.Process.Pid) + `\n'
`,
		"bin/journalctl": "true\n",
		"bin/crictl":     "echo asked >&2; exit 1\n",
	})
	body := call("kw_unit_log", "containerd.service", "9") + call("kw_containers", diagnosis.Namespace, "9")
	for range 100 { // the signal takes effect a moment later
		r := diagnosed(t, root, body)
		if len(r.Units) == 1 && r.Units[0].Stopped && r.Refused == nil {
			return
		}
	}
	t.Error("the runtime is not reported as stopped")
}

package shell

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/providers/hosttest"
)

// plugins returns the output of ctr of containerd 1.7 and 2, with the state of one plugin.
func plugins(cri string) string {
	return `[ "$*" = "--address $ROOT/run/containerd/containerd.sock --timeout 10s plugins list" ] || exit 1
echo 'TYPE                      ID         PLATFORMS      STATUS    '
echo 'io.containerd.content.v1  content    -              ok        '
echo 'io.containerd.grpc.v1     version    -              ok        '
` + cri
}

// TestContainerdCRI checks that ctr determines whether containerd serves the CRI, without ctr crictl
// does, and otherwise the state is unknown.
func TestContainerdCRI(t *testing.T) {
	t.Parallel()
	const crictl = `[ "$*" = "--runtime-endpoint unix://$ROOT/run/containerd/containerd.sock --timeout 10s version" ] || exit 1
`
	for name, c := range map[string]struct {
		programs map[string]string
		silent   bool
		want     string
	}{
		"serves":              {programs: map[string]string{"ctr": plugins("echo 'io.containerd.grpc.v1     cri        linux/amd64    ok        '")}, want: "ok\n"},
		"turned off":          {programs: map[string]string{"ctr": plugins("")}, want: "disabled\n"},
		"did not start":       {programs: map[string]string{"ctr": plugins("echo 'io.containerd.grpc.v1     cri        linux/amd64    error     '")}, want: "error\n"},
		"ctr cannot ask":      {programs: map[string]string{"ctr": "exit 1"}},
		"crictl is answered":  {programs: map[string]string{"crictl": crictl + "echo RuntimeName: containerd"}},
		"crictl is not":       {programs: map[string]string{"crictl": crictl + "echo 'code = Unimplemented desc = unknown service runtime.v1.RuntimeService' >&2; exit 1"}, want: "disabled\n"},
		"crictl gets refused": {programs: map[string]string{"crictl": "echo 'connection refused' >&2; exit 1"}},
		"neither is there":    {},
		"nothing listens":     {programs: map[string]string{"ctr": plugins("")}, silent: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := criRoot(t, c.programs, !c.silent)
			sh := exec.Command("sh", "-c", "kw_n="+testNonce+"\nkw_r="+Quote(root)+"\n"+preludeScript+observeScript+preflightScript+"kw_cri_served\n")
			sh.Env = []string{"PATH=" + root + "/bin", "ROOT=" + root}
			out, err := sh.Output()
			if err != nil {
				t.Fatal(err)
			}
			if want := "\nkubewright " + testNonce + " cri\n" + c.want; string(out) != want {
				t.Errorf("got %q, want %q", out, want)
			}
		})
	}
}

// TestImages checks that the images come from the given runtime, or from the first one
// found if none is given, through its own client if that exists.
func TestImages(t *testing.T) {
	t.Parallel()
	const said = `echo "${0##*/}"; echo "$*"`
	both := map[string]string{"ctr": said, "crictl": said}
	silent := map[string]string{"ctr": "exit 1", "crictl": "exit 1"}
	for name, c := range map[string]struct {
		programs map[string]string
		meant    string
		want     string
	}{
		"none is given":       {both, "", "ctr\n--address ROOT/run/containerd/containerd.sock --namespace k8s.io --timeout 10s images list --quiet\n"},
		"containerd is given": {both, "/run/containerd/containerd.sock", "ctr\n--address ROOT/run/containerd/containerd.sock --namespace k8s.io --timeout 10s images list --quiet\n"},
		"another is given":    {both, "/run/crio/crio.sock", "crictl\n--timeout 30s --runtime-endpoint unix://ROOT/run/crio/crio.sock --image-endpoint unix://ROOT/run/crio/crio.sock images --output json\n"},
		"none is there":       {both, "/run/cri-dockerd.sock", ""},
		"it does not answer":  {silent, "/run/crio/crio.sock", "\nkubewright " + testNonce + " no_images\n"},
		"containerd does not": {silent, "", "\nkubewright " + testNonce + " no_images\n"},
		"there is no ctr":     {map[string]string{"crictl": said}, "", "crictl\n--timeout 30s --runtime-endpoint unix://ROOT/run/containerd/containerd.sock --image-endpoint unix://ROOT/run/containerd/containerd.sock images --output json\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := criRoot(t, c.programs, true)
			if err := os.Mkdir(filepath.Join(root, "run/crio"), 0o755); err != nil {
				t.Fatal(err)
			}
			l, err := net.Listen("unix", filepath.Join(root, "run/crio/crio.sock"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
			if c.meant != "" {
				c.meant = root + c.meant
			}
			sh := exec.Command("sh", "-c", "kw_n="+testNonce+"\nkw_r="+Quote(root)+"\n"+preludeScript+observeScript+runtimeScript+call("kw_images", c.meant))
			sh.Env = []string{"PATH=" + root + "/bin", "ROOT=" + root}
			out, err := sh.Output()
			if err != nil {
				t.Fatal(err)
			}
			if want := "\nkubewright " + testNonce + " images\n" + strings.ReplaceAll(c.want, "ROOT", root); string(out) != want {
				t.Errorf("got %q, want %q", out, want)
			}
		})
	}
}

// criRoot returns a host with these programs in addition to the shell's and awk.
func criRoot(t *testing.T, programs map[string]string, listens bool) string {
	t.Helper()
	root, err := os.MkdirTemp("", "cri") // a socket's path may not be long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	for _, dir := range []string{"bin", "run/containerd"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	awk, err := exec.LookPath("awk")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(awk, filepath.Join(root, "bin", "awk")); err != nil {
		t.Fatal(err)
	}
	for name, content := range programs {
		hosttest.WriteProgram(t, filepath.Join(root, "bin", name), "#!/bin/sh\n"+content+"\n")
	}
	if listens {
		l, err := net.Listen("unix", filepath.Join(root, "run/containerd/containerd.sock"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
	}
	return root
}

// TestPodsWithoutRuntime checks that the socket file of a killed runtime does not count as
// a runtime. If containers run on without it they are not reported as gone.
func TestPodsWithoutRuntime(t *testing.T) {
	t.Parallel()
	const cannot = "echo 'connection refused' >&2; exit 1"
	for name, c := range map[string]struct {
		listens, gone bool
		folder        string
		shim          []string
		want          string
	}{
		"killed":             {},
		"never there":        {gone: true},
		"nor its folder":     {gone: true, folder: "run/crio", shim: []string{"-namespace", "k8s.io"}},
		"another's shim":     {shim: []string{"-namespace", "k8s.io", "-address", "/elsewhere/containerd.sock"}},
		"its shim":           {shim: []string{"-namespace", "k8s.io", "-address", "ROOT/run/containerd/containerd.sock"}, want: "ends"},
		"its shim, and gone": {gone: true, shim: []string{"-namespace", "k8s.io", "-address", "ROOT/run/containerd/containerd.sock"}, want: "ends"},
		"it does not answer": {listens: true, want: "connection refused\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := criRoot(t, map[string]string{"ctr": cannot, "crictl": cannot, "systemctl": "exit 0", "find": "exit 0"}, c.listens)
			socket := filepath.Join(root, cmp.Or(c.folder, "run/containerd"), "containerd.sock")
			if !c.listens && !c.gone {
				l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
				if err != nil {
					t.Fatal(err)
				}
				l.SetUnlinkOnClose(false)
				l.Close()
			}
			if c.shim != nil {
				for i := range c.shim {
					c.shim[i] = strings.ReplaceAll(c.shim[i], "ROOT", root)
				}
				pid := lostShim(t, c.shim...).Process.Pid
				if c.want != "" {
					c.want = fmt.Sprintf("no process listens on %s, and containers run on without their runtime, below the processes %d. "+
						"Start it again, so that it removes them, or end them, and apply again\n", socket, pid)
				}
			}
			sh := exec.Command("sh", "-c", "kw_n="+testNonce+"\nkw_r=\n"+preludeScript+performScript+runtimeScript+machineScript+processScript+call("kw_pods", socket))
			sh.Env = []string{"PATH=" + root + "/bin:/usr/bin:/bin"}
			var said strings.Builder
			sh.Stderr = &said
			out, err := sh.Output()
			if err != nil {
				t.Fatal(err)
			}
			if done := strings.Contains(string(out), " done same\n"); done != (c.want == "") || said.String() != c.want {
				t.Errorf("got %q and %q, want %q", out, said.String(), c.want)
			}
		})
	}
}

package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"

	"github.com/kubewright/kubewright/cmd/lab/internal/build"
	"github.com/kubewright/kubewright/cmd/lab/internal/cgroup"
	"github.com/kubewright/kubewright/cmd/lab/internal/disk"
	"github.com/kubewright/kubewright/cmd/lab/internal/process"
)

// testVariable must be set for tests that boot hosts: they take a minute, and the first time as
// long as building Kubernetes.
const testVariable = "KUBEWRIGHT_LAB_TEST"

// bootLab brings up a separate lab for a test.
func bootLab(t *testing.T, o Options) *Lab {
	t.Helper()
	if os.Geteuid() != 0 || os.Getenv(testVariable) == "" {
		t.Skipf("boots hosts: needs root and %s=1", testVariable)
	}
	cache, err := build.DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	o.Cache, o.Log = cache, t.Output()
	l, err := Up(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Down(context.Background()); err != nil {
			t.Error(err)
		}
		checkGone(t, l)
	})
	return l
}

// testName returns a lab name that no other test process uses.
func testName(letter string) string { return fmt.Sprintf("%s%d", letter, os.Getpid()) }

// checkGone fails for every part of a lab that still exists.
func checkGone(t *testing.T, l *Lab) {
	t.Helper()
	if groups, err := cgroup.Named(l.names().prefix()); err != nil || len(groups) > 0 {
		t.Errorf("cgroups remain: %v, %v", groups, err)
	}
	if left, _ := filepath.Glob("/run/netns/" + l.names().prefix() + "*"); len(left) > 0 {
		t.Errorf("network namespaces remain: %v", left)
	}
	if _, err := net.InterfaceByName(l.names().bridge()); err == nil {
		t.Error("the bridge remains")
	}
	if rules, err := exec.Command("ip", "rule").Output(); err != nil || strings.Contains(string(rules), l.names().bridge()) {
		t.Errorf("routing rules remain: %s, %v", rules, err)
	}
	if disk.Exists(l.Dir()) {
		t.Error("the folder remains")
	}
	if mounts, err := os.ReadFile("/proc/self/mountinfo"); err != nil || strings.Contains(string(mounts), l.Dir()) {
		t.Errorf("mounts remain, %v", err)
	}
}

func exec1(t *testing.T, l *Lab, host string, argv ...string) string {
	t.Helper()
	out, err := l.Exec(t.Context(), host, argv...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func TestPreparedHosts(t *testing.T) {
	l := bootLab(t, Options{Name: testName("p"), ControlPlanes: 1, Workers: 2})
	t.Run("identity", func(t *testing.T) { checkIdentity(t, l) })
	t.Run("users", func(t *testing.T) { checkUsers(t, l) })
	t.Run("exec", func(t *testing.T) { checkExec(t, l) })
	t.Run("resolver", func(t *testing.T) { checkResolver(t, l) })
	t.Run("images", func(t *testing.T) {
		images := exec1(t, l, "w2", "crictl", "images")
		for _, ref := range l.Release().Images() {
			if name, tag, _ := strings.Cut(ref, ":"); !strings.Contains(images, name) || !strings.Contains(images, tag) {
				t.Errorf("image %s is missing:\n%s", ref, images)
			}
		}
	})
	t.Run("kernel modules", func(t *testing.T) { exec1(t, l, "w1", "modprobe", "--all", "overlay", "br_netfilter") })
	t.Run("other lab", func(t *testing.T) { checkSecondLab(t, l) })
	t.Run("faults", func(t *testing.T) { checkFaults(t, l) })
}

func checkIdentity(t *testing.T, l *Lab) {
	for _, file := range []string{"/etc/machine-id", "/etc/hostname", "/proc/sys/kernel/random/boot_id", "/etc/ssh/ssh_host_ed25519_key.pub"} {
		seen := map[string]string{}
		for _, h := range l.Hosts() {
			text := exec1(t, l, h.Name, "cat", file)
			if other, ok := seen[text]; ok {
				t.Errorf("%s is the same on %s and %s", file, other, h.Name)
			}
			seen[text] = h.Name
		}
	}
	if failed := exec1(t, l, "cp1", "systemctl", "--failed", "--no-legend"); failed != "" {
		t.Errorf("failed units:\n%s", failed)
	}
	if env := exec1(t, l, "cp1", "cat", "/proc/1/environ"); strings.Contains(env, testVariable) || strings.Contains(env, "HOME") {
		t.Errorf("the host's init has our environment: %q", env)
	}
}

// checkUsers logs in as every user, verifies the host's key, and tries sudo.
func checkUsers(t *testing.T, l *Lab) {
	for user, test := range map[string]struct{ command, input, want string }{
		"root":   {"id -u", "", "0"},
		"ubuntu": {"sudo -n id -u", "", "0"},
		"carol":  {"sudo -S -p '' id -u", SudoPassword + "\n", "0"},
		"dave":   {"sudo -n id -u || echo no", "", "no"},
	} {
		out, err := sshRun(t, l, "w1", user, test.command, test.input)
		if err != nil || strings.TrimSpace(out) != test.want {
			t.Errorf("%s: %s: got %q, %v; want %s", user, test.command, out, err, test.want)
		}
	}
	if out, err := sshRun(t, l, "w1", "carol", "sudo -n id -u", ""); err == nil {
		t.Errorf("carol needs no password: %s", out)
	}
}

func sshRun(t *testing.T, l *Lab, host, user, command, input string) (string, error) {
	t.Helper()
	key, err := os.ReadFile(l.PrivateKey())
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.ParsePrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	known, err := knownhosts.NewDB(l.KnownHosts())
	if err != nil {
		t.Fatal(err)
	}
	h, err := l.Host(host)
	if err != nil {
		t.Fatal(err)
	}
	address := netip.AddrPortFrom(h.Address(), 22).String()
	client, err := ssh.Dial("tcp", address, &ssh.ClientConfig{
		User: user, Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)}, Timeout: 10 * time.Second,
		HostKeyCallback: known.HostKeyCallback(), HostKeyAlgorithms: known.HostKeyAlgorithms(address),
	})
	if err != nil {
		return "", err
	}
	defer client.Close()
	session, err := client.NewSession()
	if err != nil {
		return "", err
	}
	session.Stdin = strings.NewReader(input)
	out, err := session.Output(command)
	return string(out), err
}

func checkExec(t *testing.T, l *Lab) {
	_, err := l.Exec(t.Context(), "w1", "sh", "-c", "echo reason >&2; exit 7")
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 7 || !strings.Contains(err.Error(), "reason") {
		t.Errorf("a failed command: %v", err)
	}
	if out, err := l.ExecInput(t.Context(), "w1", "text", "cat"); err != nil || string(out) != "text" {
		t.Errorf("input: %q, %v", out, err)
	}
	if got := exec1(t, l, "w1", "pwd"); got != "/" {
		t.Errorf("commands start in %s", got)
	}
}

// checkResolver checks that unknown names are refused at once, and that the lab's names resolve.
func checkResolver(t *testing.T, l *Lab) {
	start := time.Now()
	if out, err := l.Exec(t.Context(), "cp1", "getent", "hosts", "nosuch.example.com"); err == nil {
		t.Errorf("an unknown name resolves to %s", out)
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("looking up an unknown name takes %s", took)
	}
	start = time.Now()
	if _, err := l.Exec(t.Context(), "cp1", "curl", "--silent", "--max-time", "10", "http://192.0.2.1"); err == nil || time.Since(start) > 5*time.Second {
		t.Errorf("a connection out of the lab: %v after %s", err, time.Since(start))
	}
	name, address := l.Endpoint()
	if got := exec1(t, l, "w1", "getent", "hosts", name); !strings.HasPrefix(got, address.Addr().String()) {
		t.Errorf("the endpoint resolves to %s", got)
	}
}

// checkSecondLab brings a bare lab up and down beside the first one.
func checkSecondLab(t *testing.T, l *Lab) {
	other := bootLab(t, Options{Name: testName("q"), ControlPlanes: 1, Bare: true})
	if out, err := other.Exec(t.Context(), "cp1", "sh", "-c", "command -v kubelet containerd runc"); err == nil {
		t.Errorf("a bare host has %s", out)
	}
	before := listing(t, other, "cp1")
	exec1(t, other, "cp1", "sh", "-c", "echo x >/etc/left-over; ip link add left type bridge; nft add table ip left; mkdir /var/lib/kubelet/left")
	diff := DiffListings(before, listing(t, other, "cp1"))
	for _, want := range []string{"+ file     /etc/left-over ", "+ link     left", "+ nft      table ip left", "+ file     /var/lib/kubelet/left "} {
		if !strings.Contains(diff, want) {
			t.Errorf("a listing does not show %q:\n%s", want, diff)
		}
	}
	exec1(t, other, "cp1", "sh", "-c", "rm /etc/left-over; ip link delete left; nft delete table ip left; rmdir /var/lib/kubelet/left")
	if diff := DiffListings(before, listing(t, other, "cp1")); diff != "" {
		t.Errorf("an idle host differs from itself:\n%s", diff)
	}
	for _, name := range []string{"kubeadm", "kubelet", "runc", "containerd"} {
		if file := other.Artifacts().Program(name); !disk.Exists(file) {
			t.Errorf("no %s for the operator", file)
		}
	}
	if l.State("w1") != "running" {
		t.Error("the first lab is not running any more")
	}
}

func listing(t *testing.T, l *Lab, host string) string {
	t.Helper()
	text, err := l.Listing(t.Context(), host)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func checkFaults(t *testing.T, l *Lab) {
	ctx := t.Context()
	exec1(t, l, "w1", "sh", "-c", "echo kept >/root/kept; ip link add gone type bridge")
	boot := exec1(t, l, "w1", "cat", "/proc/sys/kernel/random/boot_id")
	steps := []struct {
		name string
		do   func(context.Context, string) error
		want string
	}{
		{"pause", l.Pause, "paused"},
		{"resume", l.Resume, "running"},
		{"kill", l.Kill, "down"},
		{"start", l.Start, "running"},
		{"restart", l.Restart, "running"},
		{"disconnect", l.Disconnect, "running"},
		{"connect", l.Connect, "running"},
	}
	for _, step := range steps {
		if err := step.do(ctx, "w1"); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		err := process.Until(ctx, 5*time.Second, 10*time.Millisecond, step.want, func(context.Context) error {
			if got := l.State("w1"); got != step.want {
				return fmt.Errorf("the host is %s", got)
			}
			return nil
		})
		if err != nil {
			t.Errorf("after %s: %v", step.name, err)
		}
	}
	if got := exec1(t, l, "w1", "cat", "/root/kept"); got != "kept" {
		t.Error("a reboot lost a file")
	}
	if _, err := l.Exec(ctx, "w1", "ip", "link", "show", "gone"); err == nil {
		t.Error("a link outlived a reboot")
	}
	if again := exec1(t, l, "w1", "cat", "/proc/sys/kernel/random/boot_id"); again == boot {
		t.Error("the boot id outlived a reboot")
	}
	checkReinstall(t, l)
}

// checkReinstall checks that a reinstalled host is another machine in every respect that a client
// can detect.
func checkReinstall(t *testing.T, l *Lab) {
	identity := []string{"cat", "/etc/machine-id", "/etc/ssh/ssh_host_ed25519_key.pub"}
	if dmi := "/sys/class/dmi/id/product_uuid"; disk.Exists(dmi) { // missing on some machines
		identity = append(identity, dmi)
	}
	was := strings.Split(exec1(t, l, "w1", identity...), "\n")
	if err := l.Reinstall(t.Context(), "w1"); err != nil {
		t.Fatalf("reinstall: %v", err)
	}
	for i, is := range strings.Split(exec1(t, l, "w1", identity...), "\n") {
		if is == was[i] {
			t.Errorf("after reinstall the host still has %s", is)
		}
	}
	if _, err := l.Exec(t.Context(), "w1", "test", "-e", "/root/kept"); err == nil {
		t.Error("a file outlived a reinstall")
	}
	known, err := os.ReadFile(l.KnownHosts())
	if err != nil {
		t.Fatal(err)
	}
	if key := exec1(t, l, "w1", "cat", "/etc/ssh/ssh_host_ed25519_key.pub"); !strings.Contains(string(known), key) {
		t.Error("the new key is not in known_hosts")
	}
}

// TestLeftoversAreCleared checks that the leftovers of a killed process are cleared by the next
// lab of the same name, and that a lab in use is left alone.
func TestLeftoversAreCleared(t *testing.T) {
	o := Options{Name: testName("r"), ControlPlanes: 1}
	first := bootLab(t, o)
	o.Cache = first.cache
	if _, err := Up(t.Context(), o); !errors.Is(err, ErrInUse) || first.State("cp1") != "running" {
		t.Fatalf("a second lab of the name: %v", err)
	}
	if err := os.Remove(first.path("lab.json")); err != nil {
		t.Fatal(err)
	}
	first.balancer.Close() // as if the process had been killed
	first.letGo()
	second := bootLab(t, o)
	if second.State("cp1") != "running" {
		t.Error("the second lab is not running")
	}
}

// TestKubeadmCluster checks that in a cluster of real kubeadm pods on different hosts reach each
// other, by address and by the name of a Service.
func TestKubeadmCluster(t *testing.T) {
	for _, mode := range []string{"iptables", "nftables"} {
		t.Run(mode, func(t *testing.T) {
			l := bootLab(t, Options{Name: testName("k"), ControlPlanes: 1, Workers: 1})
			times, err := KubeadmCluster(t.Context(), l, KubeadmOptions{ProxyMode: mode, Log: t.Output()})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("times: %+v", times)
			checkPods(t, l)
		})
	}
}

const webManifest = `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      tolerations: [{operator: Exists}]
      containers: [{name: web, image: "` + build.WorkloadImage + `", imagePullPolicy: Never}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
`

func checkPods(t *testing.T, l *Lab) {
	kubectl := func(args ...string) string {
		out, err := l.Kubectl(t.Context(), "cp1", args...)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	if _, err := l.KubectlInput(t.Context(), "cp1", webManifest, "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	kubectl("rollout", "status", "daemonset/web", "--timeout=60s")
	pods := strings.Fields(kubectl("get", "pods", "-l", "app=web", "-o", "jsonpath={.items[*].metadata.name}"))
	for _, address := range strings.Fields(kubectl("get", "pods", "-l", "app=web", "-o", "jsonpath={.items[*].status.podIP}")) {
		if got := kubectl("exec", pods[0], "--", "/workload", "get", "http://"+address+":8080"); !strings.HasPrefix(got, "web-") {
			t.Errorf("a pod reached by its address answers %q", got)
		}
	}
	// Packet filter rules follow the endpoints with a delay.
	err := process.Until(t.Context(), 30*time.Second, 100*time.Millisecond, "the service", func(ctx context.Context) error {
		_, err := l.Kubectl(ctx, "cp1", "exec", pods[0], "--", "/workload", "get", "http://web.default.svc.cluster.local")
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

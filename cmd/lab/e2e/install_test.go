//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/cmd/lab/internal/lab"
)

// TestInstall creates a cluster on hosts that have only systemd and sshd, from a folder of
// artifacts that kubewright bundle has created, changes one artifact, and checks that destroy
// restores the hosts.
func TestInstall(t *testing.T) {
	begin(t)
	s := newBareSite(t, lab.Options{Name: "e2ei", ControlPlanes: 1, Workers: 1})
	s.extra = "  image_pull_policy = \"Never\"\n  install { artifacts = \"./artifacts\" }\n"
	s.configure()
	s.bundled()
	for _, h := range s.hosts() {
		s.sh(h.Name, "mkdir -p /etc/cni/net.d && cat >/etc/cni/net.d/10-lab.conflist <<'E'\n"+network(h)+"E\n")
	}
	s.logIn()
	before := s.listings()

	r := s.must("plan", "-no-color")
	wantContains(t, r.out, "containerd-2.", "runc.amd64", "Plan: 3 to add, 0 to change, 0 to destroy.")
	r = s.must("apply", "-auto-approve", "-no-color")
	t.Logf("apply of a control plane and a worker from bare hosts: %s", r.took.Round(100*time.Millisecond))
	s.wantCluster()
	s.wantWorkload()
	s.settled()
	t.Logf("plan without changes: %s", s.wantNoChanges().took.Round(10*time.Millisecond))

	// A program that was replaced on a host is repaired.
	w := s.workers[0].Name
	s.sh(w, "cp /opt/cni/bin/vlan /opt/cni/bin/ipvlan")
	r = s.must("apply", "-auto-approve", "-no-color")
	wantContains(t, r.out, `binary "/opt/cni/bin/ipvlan"`, "Plan: 0 to add, 1 to change, 0 to destroy.")
	s.wantNoChanges()
	s.wantNewSettings()

	r = s.must("destroy", "-auto-approve", "-no-color")
	wantContains(t, r.out, "Destroy complete!")
	s.wantNothingLeft(before)
}

// wantNewSettings changes containerd's configuration and checks that containerd is restarted and
// the pods keep running.
func (s *site) wantNewSettings() {
	s.t.Helper()
	file := filepath.Join(s.dir, "artifacts", "containerd", "lab.toml")
	text, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(file, append(text, "# another\n"...), 0o600); err != nil {
		s.t.Fatal(err)
	}
	if r := s.run("plan", "-no-color"); r.code != 1 || !strings.Contains(r.out, "containerd/lab.toml: its SHA-256 is") {
		s.t.Fatal("a file that does not match SHA256SUMS is accepted")
	}
	s.sumArtifacts()
	pods := s.processes()
	runtime := s.sh(s.workers[0].Name, "systemctl show --property MainPID --value containerd")
	r := s.must("apply", "-auto-approve", "-no-color")
	wantContains(s.t, r.out, "restarts containerd here; pods keep running", "Plan: 0 to add, 2 to change, 0 to destroy.")
	if s.sh(s.workers[0].Name, "systemctl show --property MainPID --value containerd") == runtime {
		s.t.Error("containerd still runs with its old settings")
	}
	if after := s.processes(); after != pods {
		s.t.Errorf("something else was restarted:\nbefore %s\nafter  %s", pods, after)
	}
	s.wantNoChanges()
	s.wantCluster()
}

// sumArtifacts updates the checksums of the artifact folder with the command that the error
// message gives.
func (s *site) sumArtifacts() {
	s.t.Helper()
	sums := exec.Command("sh", "-c", "find . -type f ! -name SHA256SUMS -exec sha256sum {} + > SHA256SUMS")
	sums.Dir = filepath.Join(s.dir, "artifacts")
	if out, err := sums.CombinedOutput(); err != nil {
		s.t.Fatalf("%v\n%s", err, out)
	}
}

// network returns a pod network with one bridge per host.
func network(h lab.Host) string {
	return fmt.Sprintf(`{"cniVersion": "1.0.0", "name": "lab", "plugins": [
  {"type": "bridge", "bridge": "cni0", "isGateway": true, "hairpinMode": true,
   "ipam": {"type": "host-local", "ranges": [[{"subnet": "%s"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
`, h.Pods[0])
}

// A leftover is a part of a listing's line that may have changed, and why.
type leftover struct{ part, reason string }

// left is what destroy leaves on a bare host, and why.
var left = []leftover{
	{" /etc/passwd- ", accounts},
	{" /etc/shadow- ", accounts},
	{" /etc/group- ", accounts},
	{" /etc/gshadow- ", accounts},
	{" /run/netns ", "the container runtime makes the folder for the networks of its first pod"},
	{" kernel.panic", "one kernel serves all hosts here; tested with simulated hosts"},
	{" vm.overcommit_memory", "one kernel serves all hosts here; tested with simulated hosts"},
	{" /root/.kube", "kubectl's cache, of this test"},
}

// wantNothingLeft checks that bare hosts are bare again.
func (s *site) wantNothingLeft(before map[string]string, also ...leftover) {
	s.t.Helper()
	left := slices.Concat(left, also)
	for name, after := range s.listings() {
		var lines []string
		for _, line := range strings.Split(lab.DiffListings(before[name], after), "\n") {
			known := strings.TrimSpace(line) == ""
			for _, k := range left {
				known = known || strings.Contains(line+" ", k.part)
			}
			if !known {
				lines = append(lines, line)
			}
		}
		if len(lines) > 0 {
			s.t.Errorf("%s is not as it was before:\n%s", name, strings.Join(lines, "\n"))
		}
	}
	for _, k := range left {
		s.t.Logf("not compared:%s: %s", k.part, k.reason)
	}
}

// newBareSite starts a lab of hosts without any software.
func newBareSite(t *testing.T, o lab.Options) *site {
	t.Helper()
	o.Bare, o.Log = true, os.Stderr
	l, err := lab.Up(context.Background(), o)
	if err != nil {
		t.Fatalf("cannot start the lab: %v", err)
	}
	downWith(t, l)
	s := &site{Lab: l, t: reporter{t}, dir: t.TempDir()}
	for _, h := range l.Hosts() {
		if h.Role == lab.ControlPlane {
			s.planes = append(s.planes, h)
		} else {
			s.workers = append(s.workers, h)
		}
	}
	return s
}

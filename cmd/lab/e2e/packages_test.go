//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/cmd/lab/internal/build"
	"github.com/kubewright/kubewright/cmd/lab/internal/disk"
	"github.com/kubewright/kubewright/cmd/lab/internal/lab"
)

// TestPackages creates a cluster on bare Debian hosts from a package repository, with apt itself
// and packages that the lab builds from real programs, upgrades it to the next minor version from
// that version's repository, and checks that destroy restores the hosts.
func TestPackages(t *testing.T) {
	begin(t)
	s := newBareSite(t, lab.Options{Name: "e2ep", Kubernetes: upgradeFrom, ControlPlanes: 1, Workers: 1})
	next := artifactsOf(t, upgradeTo)
	repository := s.servePackages(next)
	for _, h := range s.hosts() {
		s.sh(h.Name, "mkdir -p /etc/cni/net.d && cat >/etc/cni/net.d/10-lab.conflist <<'E'\n"+network(h)+"E\n")
	}
	s.imagesOnly(next)
	s.extra = fmt.Sprintf("  image_pull_policy = \"Never\"\n  install {\n    artifacts = \"./artifacts\"\n    packages {\n      key = file(\"key.asc\")\n      repository = %q\n    }\n  }\n", repository)
	s.configure()
	s.logIn()
	before := s.listings()

	r := s.must("plan", "-no-color")
	wantContains(t, r.out, `+ package "containerd" (held)`, `+ package "kubelet" (`+strings.TrimPrefix(s.Release().Kubernetes, "v")+", held)", "Plan: 3 to add, 0 to change, 0 to destroy.")
	r = s.must("apply", "-auto-approve", "-no-color")
	t.Logf("apply of a control plane and a worker from packages: %s", r.took.Round(100*time.Millisecond))
	s.wantCluster()
	s.settled()
	t.Logf("plan without changes: %s", s.wantNoChanges().took.Round(10*time.Millisecond))
	w := s.workers[0].Name
	wantContains(t, s.sh(w, "apt-mark showhold"), "containerd", "kubeadm", "kubectl", "kubelet")
	wantContains(t, s.sh(w, "dpkg --verify kubelet containerd 2>&1; command -v kubelet"), "/usr/bin/kubelet")

	// A user removes the hold of a package and interrupts an installation.
	s.sh(w, "apt-mark unhold kubelet && sed -i '/^Package: kubectl$/,/^$/s/^Status: .*/Status: hold ok half-configured/' /var/lib/dpkg/status")
	r = s.must("apply", "-auto-approve", "-no-color")
	wantContains(t, r.out, "~ held = false -> true", `- status = "`, "Plan: 0 to add, 1 to change, 0 to destroy.")
	s.wantNoChanges()

	// A version that the repository does not have is detected before anything starts.
	s.version = upgradeFrom[:strings.LastIndexByte(upgradeFrom, '.')] + ".99"
	s.configure()
	if r := s.run("plan", "-no-color"); r.code != 1 || !strings.Contains(strings.Join(strings.Fields(r.out), " "), "does not have version "+strings.TrimPrefix(s.version, "v")) {
		t.Errorf("a version that the repository does not have: exit code %d\n%s", r.code, r.out)
	}

	s.version = upgradeTo
	s.configure()
	r = s.must("apply", "-auto-approve", "-no-color")
	t.Logf("upgrade of a control plane and a worker from packages, %s to %s: %s", upgradeFrom, upgradeTo, r.took.Round(100*time.Millisecond))
	s.wantVersion(upgradeTo)
	wantContains(t, s.sh(w, "apt-mark showhold"), "containerd", "kubeadm", "kubectl", "kubelet")
	wantContains(t, s.sh(w, "dpkg-query -W kubelet"), strings.TrimPrefix(upgradeTo, "v"))
	s.wantNoChanges()

	r = s.must("destroy", "-auto-approve", "-no-color")
	wantContains(t, r.out, "Destroy complete!")
	const managers = "the package manager's own"
	s.wantNothingLeft(before, leftover{" /var/lib/dpkg", managers}, leftover{" /var/lib/apt", managers}, leftover{" /var/cache/apt", managers},
		leftover{" /var/cache/debconf", managers}, leftover{" /etc/systemd/system/multi-user.target.wants ", "systemd changes links in it"})
	for _, h := range s.hosts() {
		if lists := s.sh(h.Name, "ls /var/lib/apt/lists"); strings.Contains(lists, "Packages") {
			t.Errorf("%s still has the repository's package lists: %s", h.Name, lists)
		}
		if got := s.sh(h.Name, "dpkg-query -W -f '${db:Status-Status} ${Package}\\n' | grep -v '^installed ' || true"); strings.TrimSpace(got) != "" {
			t.Errorf("%s has traces of packages: %s", h.Name, got)
		}
	}
}

// servePackages serves repositories of the lab's packages, for its own and another release, to
// its hosts, and writes their key into the operator's folder.
func (s *site) servePackages(next build.Artifacts) string {
	s.t.Helper()
	dir := s.t.TempDir()
	if err := build.WriteRepository(context.Background(), dir, s.Artifacts(), next); err != nil {
		s.t.Fatal(err)
	}
	key, err := os.ReadFile(filepath.Join(dir, "key.asc"))
	if err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "key.asc"), key, 0o600); err != nil {
		s.t.Fatal(err)
	}
	_, address := s.Endpoint()
	l, err := net.Listen("tcp", netip.AddrPortFrom(address.Addr(), 0).String())
	if err != nil {
		s.t.Fatal(err)
	}
	server := &http.Server{Handler: http.FileServer(http.Dir(dir)), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }()
	s.t.Cleanup(func() { _ = server.Close() })
	return "http://" + l.Addr().String()
}

// imagesOnly writes a folder of artifacts with images, also those of another release, and
// containerd's settings.
func (s *site) imagesOnly(next build.Artifacts) {
	s.t.Helper()
	folder := filepath.Join(s.dir, "artifacts")
	if err := s.Artifacts().WriteFolder(folder); err != nil {
		s.t.Fatal(err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range entries {
		if !e.IsDir() {
			if err := os.Remove(filepath.Join(folder, e.Name())); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	copied := func(string) bool { return true }
	if err := disk.LinkTree(filepath.Join(next.Dir, "images"), filepath.Join(folder, "images"), copied); err != nil {
		s.t.Fatal(err)
	}
	s.sumArtifacts()
}

//go:build e2e

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestRelease installs the Debian package of a release on a host, creates a cluster from there, and
// runs the images of the release with the host's containerd.
func TestRelease(t *testing.T) {
	begin(t)
	if os.Getenv("KUBEWRIGHT_DIST") == "" {
		long(t) // it builds the release first
	}
	dist := released(t)
	s := newSite(t, "e2erl", 1, 2)
	desk := s.workers[1]
	s.workers = s.workers[:1]
	s.configure()
	s.on = desk.Name
	t.Run("package", func(t *testing.T) { s.within(t, func() { s.installed(dist) }) })
	t.Run("images", func(t *testing.T) { s.within(t, func() { s.runsImages(dist) }) })
}

// released returns a folder with a release for this platform: KUBEWRIGHT_DIST, or a snapshot of the
// commit that is checked out.
func released(t *testing.T) string {
	t.Helper()
	if dist := os.Getenv("KUBEWRIGHT_DIST"); dist != "" {
		return dist
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	// A clone is clean, whatever is being edited; changes without a commit are not in it.
	clone, dist := filepath.Join(t.TempDir(), "kubewright"), filepath.Join(t.TempDir(), "dist")
	for _, argv := range [][]string{
		{"git", "clone", "--quiet", root, clone},
		{"go", "-C", filepath.Join(root, "tools"), "run", "./release", "-repo", clone, "-dist", dist, "-snapshot", "-only=linux/" + runtime.GOARCH},
	} {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		if err := cmd.Run(); err != nil {
			t.Fatalf("%s: %v", strings.Join(argv, " "), err)
		}
	}
	return dist
}

// one returns the only file of a pattern in a release.
func (s *site) one(dist, pattern string) string {
	s.t.Helper()
	files, err := filepath.Glob(filepath.Join(dist, pattern))
	if err != nil || len(files) != 1 {
		s.t.Fatalf("%s in %s: %v %v, want one file", pattern, dist, files, err)
	}
	return files[0]
}

// installed checks that the package's program makes a cluster, and that its removal leaves nothing.
func (s *site) installed(dist string) {
	s.t.Helper()
	s.bring(s.one(dist, "*_linux_"+runtime.GOARCH+".deb"), "/root/kubewright.deb", "644")
	s.sh(s.on, "dpkg -i /root/kubewright.deb")
	s.bring(filepath.Join(s.dir, "cluster.hcl"), operatorFolder+"/cluster.hcl", "600")
	for _, file := range []string{s.PrivateKey(), s.KnownHosts()} { // at the paths in the configuration
		s.bring(file, file, "600")
	}
	s.sh(s.on, "ln -s /usr/bin/kubewright "+operatorFolder+"/kubewright")
	for _, file := range []string{"/usr/share/man/man1/kubewright-plan.1.gz", "/usr/share/bash-completion/completions/kubewright", "/usr/share/doc/kubewright/copyright", "/usr/share/doc/kubewright/NOTICE", "/usr/share/doc/kubewright/THIRD_PARTY_LICENSES"} {
		s.sh(s.on, "test -s "+file)
	}
	version := s.sh(s.on, "kubewright version -json")
	wantContains(s.t, version, strings.Split(filepath.Base(s.one(dist, "*.deb")), "_")[1])
	s.founded()
	s.must("destroy", "-auto-approve", "-no-color")
	s.sh(s.on, "dpkg --purge kubewright && ! command -v kubewright")
}

// runsImages checks both images with containerd.
func (s *site) runsImages(dist string) {
	s.t.Helper()
	for _, image := range []struct{ file, name, script string }{
		{"*_image.tar", "localhost/kubewright", ""},
		{"*_image-ci.tar", "localhost/kubewright-ci", "kubewright version && git --version && ssh -V && jq --version && curl --version && test -s /etc/ssl/certs/ca-certificates.crt"},
	} {
		file := s.one(dist, image.file)
		version := strings.Split(filepath.Base(file), "_")[1]
		s.bring(file, "/root/image.tar", "644")
		s.sh(s.on, "ctr -n release images import --base-name "+image.name+" /root/image.tar")
		run := "ctr -n release run --rm --net-host " + image.name + ":" + version + " once "
		if image.script == "" {
			run += "/usr/bin/kubewright version"
		} else {
			run += "bash -euc '" + image.script + "' 2>&1"
		}
		wantContains(s.t, s.sh(s.on, run), "kubewright v"+version)
	}
	if _, err := s.Exec(context.Background(), s.on, "sh", "-c", "ctr -n release images ls -q | xargs ctr -n release images rm --sync"); err != nil {
		s.t.Error(err)
	}
}

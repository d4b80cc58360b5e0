//go:build e2e

package e2e

import (
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/kubewright/kubewright/cmd/lab/internal/lab"
	"github.com/kubewright/kubewright/providers/bundle/bundletest"
)

// releases are the versions of the other artifacts, in the form of file names. Debian's runc has
// no version in its name.
type releases struct{ containerd, runc, cni, crictl string }

// bundled creates the folder of artifacts with kubewright bundle, from a server that publishes
// the lab's artifacts as the projects publish theirs. The lab's own artifacts are added by hand,
// as an operator adds settings and images.
func (s *site) bundled() {
	s.t.Helper()
	built := filepath.Join(s.t.TempDir(), "built")
	if err := s.Artifacts().WriteFolder(built); err != nil {
		s.t.Fatal(err)
	}
	host, v := s.publish(built)
	args := []string{
		"bundle", "-no-color", "-arch=" + runtime.GOARCH, "-from-kubernetes=http://" + host + "/k8s", "-from-github=http://" + host + "/github", "-from-images=" + host + "/k8s",
		"-containerd=" + v.containerd, "-runc=" + v.runc, "-cni-plugins=" + v.cni, "-crictl=" + v.crictl,
	}
	wantContains(s.t, words(s.must(args...).out), "Bundle complete! ./artifacts: 14 fetched, 0 there before")

	own := []string{"containerd/lab.toml"}
	for i, image := range s.Artifacts().Release.Images() {
		if image == lab.WorkloadImage {
			own = append(own, "images/"+filepath.Base(s.Artifacts().Images()[i]))
		}
	}
	for _, file := range own {
		to := filepath.Join(s.dir, "artifacts", file)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			s.t.Fatal(err)
		}
		if err := os.WriteFile(to, []byte(contents(s.t, filepath.Join(built, file))), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
	s.sumArtifacts()
	wantContains(s.t, words(s.must(args...).out), "Bundle complete! ./artifacts: 0 fetched, 14 there before")
}

// publish serves a folder of artifacts and the images in it until the test ends.
func (s *site) publish(built string) (host string, v releases) {
	s.t.Helper()
	v = releases{runc: "1.1.5"}
	entries, err := os.ReadDir(built)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range entries {
		for pattern, version := range map[string]*string{`^containerd-(.*)-linux-`: &v.containerd, `^cni-plugins-linux-.*-v(.*)\.tgz$`: &v.cni, `^crictl-v(.*)-linux-`: &v.crictl} {
			if found := regexp.MustCompile(pattern).FindStringSubmatch(e.Name()); found != nil {
				*version = found[1]
			}
		}
	}
	const github = "/github/"
	platform := "linux-" + runtime.GOARCH
	place := bundletest.New(strings.TrimPrefix(s.Release().Kubernetes, "v"), v.containerd, v.runc, v.cni, v.crictl)
	put := func(at, file, suffix, after string) {
		place.Publish(at, []byte(contents(s.t, filepath.Join(built, file))), suffix, after)
	}
	for _, program := range []string{"kubelet", "kubeadm", "kubectl"} {
		put("/k8s/release/"+s.Release().Kubernetes+"/bin/linux/"+runtime.GOARCH+"/"+program, program, ".sha256", "")
	}
	for _, r := range []struct{ at, file, suffix string }{
		{"containerd/containerd/releases/download/v" + v.containerd, "containerd-" + v.containerd + "-" + platform + ".tar.gz", ".sha256sum"},
		{"containernetworking/plugins/releases/download/v" + v.cni, "cni-plugins-" + platform + "-v" + v.cni + ".tgz", ".sha256"},
		{"kubernetes-sigs/cri-tools/releases/download/v" + v.crictl, "crictl-v" + v.crictl + "-" + platform + ".tar.gz", ".sha256"},
	} {
		put(github+r.at+"/"+r.file, r.file, r.suffix, "  "+r.file)
	}
	runc := github + "opencontainers/runc/releases/download/v" + v.runc + "/runc"
	put(runc+"."+runtime.GOARCH, "runc."+runtime.GOARCH, ".asc", "")
	put(runc, "runc."+runtime.GOARCH, ".sha256sum", " *runc."+runtime.GOARCH) // one file with the sums of all

	server := httptest.NewServer(place)
	s.t.Cleanup(server.Close)
	host = strings.TrimPrefix(server.URL, "http://")
	s.push(host)
	return host, v
}

// push pushes Kubernetes' images to a registry, as a mirror has them.
func (s *site) push(host string) {
	s.t.Helper()
	archives := s.Artifacts().Images()
	for i, image := range s.Artifacts().Release.Images() {
		if image == lab.WorkloadImage {
			continue
		}
		content, err := tarball.ImageFromPath(archives[i], nil)
		if err != nil {
			s.t.Fatal(err)
		}
		ref, err := name.ParseReference(host + "/k8s/" + path.Base(image))
		if err != nil {
			s.t.Fatal(err)
		}
		if err := remote.Write(ref, content); err != nil {
			s.t.Fatalf("cannot push %s: %v", image, err)
		}
	}
}

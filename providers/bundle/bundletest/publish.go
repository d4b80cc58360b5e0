// Package bundletest publishes small artifacts for tests, at the same paths and in the same
// formats as the projects.
package bundletest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"net/http"
	"path"
	"strings"
	"sync"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/kubewright/kubewright/config/artifacts/artifactstest"
)

// Place serves releases below /k8s and /github, and images as a registry.
type Place struct {
	mu       sync.Mutex
	files    map[string][]byte
	asked    []string
	registry http.Handler
}

// New publishes releases of Kubernetes and its companion projects, for amd64.
func New(kubernetes, containerd, runc, cni, crictl string) *Place {
	p := &Place{files: map[string][]byte{}, registry: registry.New(registry.Logger(log.New(io.Discard, "", 0)))}
	all := artifactstest.New("amd64", kubernetes)
	for _, program := range []string{"kubelet", "kubeadm", "kubectl"} {
		p.Publish("/k8s/release/v"+kubernetes+"/bin/linux/amd64/"+program, all["amd64/"+program], ".sha256", "")
	}
	for from, to := range map[string]struct{ at, suffix string }{
		"containerd-2.1.4-linux-amd64.tar.gz": {"containerd/containerd/releases/download/v" + containerd + "/containerd-" + containerd + "-linux-amd64.tar.gz", ".sha256sum"},
		"cni-plugins-linux-amd64-v1.7.1.tgz":  {"containernetworking/plugins/releases/download/v" + cni + "/cni-plugins-linux-amd64-v" + cni + ".tgz", ".sha256"},
		"crictl-v1.36.0-linux-amd64.tar.gz":   {"kubernetes-sigs/cri-tools/releases/download/v" + crictl + "/crictl-v" + crictl + "-linux-amd64.tar.gz", ".sha256"},
	} {
		p.Publish("/github/"+to.at, all[from], to.suffix, "  "+path.Base(to.at))
	}
	at := "/github/opencontainers/runc/releases/download/v" + runc + "/"
	p.files[at+"runc.amd64"] = all["runc.amd64"]
	p.files[at+"runc.sha256sum"] = []byte("-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\n" + strings.Repeat("0", 64) + "  runc.arm64\n" + sum(all["runc.amd64"]) + " *runc.amd64\n")
	return p
}

func sum(content []byte) string {
	s := sha256.Sum256(content)
	return hex.EncodeToString(s[:])
}

// Publish stores a file at a path, with its sum next to it, followed by after.
func (p *Place) Publish(at string, content []byte, suffix, after string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.files[at], p.files[at+suffix] = content, []byte(sum(content)+after+"\n")
}

// Image pushes an image for amd64 into the registry at host, under its name there.
func (p *Place) Image(host, image string) error {
	ref, err := name.ParseReference(host + "/" + image)
	if err != nil {
		return err
	}
	i, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: "linux", Architecture: "amd64", Config: v1.Config{Labels: map[string]string{"image": image}}})
	if err != nil {
		return err
	}
	return remote.Write(ref, i)
}

// Asked lists the requests since the last call, without those for sums.
func (p *Place) Asked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.asked
	p.asked = nil
	return out
}

// ServeHTTP implements http.Handler.
func (p *Place) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/v2") {
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/manifests/") {
			p.note(r.URL.Path)
		}
		p.registry.ServeHTTP(w, r)
		return
	}
	p.mu.Lock()
	content, ok := p.files[r.URL.Path]
	p.mu.Unlock()
	if !ok {
		http.Error(w, "not here", http.StatusNotFound)
		return
	}
	if !strings.Contains(path.Base(r.URL.Path), "sha256") {
		p.note(r.URL.Path)
	}
	_, _ = fmt.Fprintf(w, "%s", content)
}

func (p *Place) note(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, what)
}

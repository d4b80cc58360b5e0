//go:build e2e

package e2e

import (
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/kubewright/kubewright/cmd/lab/internal/lab"
)

// TestPull creates a cluster whose images are only in a registry: the hosts' own runtime pulls
// them, at creation and when one is missing later. An image that the registry does not have is
// reported before anything is disrupted.
func TestPull(t *testing.T) {
	begin(t)
	s := newSite(t, "e2epull", 1, 1)
	m := s.mirror()
	s.extra = fmt.Sprintf("  image_repository = %q\n", m.repository)
	s.configure()
	s.logIn()
	before := s.listings()
	s.wantServedCRI(s.workers[0])

	// The registry has all images but one.
	scheduler := "kube-scheduler:" + s.Release().Kubernetes
	for _, image := range s.Release().Images() {
		if image := path.Base(image); image != scheduler && !strings.HasPrefix(image, "workload:") {
			m.push(image)
		}
	}
	s.wantNotPulled(s.planes[0], m.repository+"/"+scheduler)
	for _, h := range s.hosts() {
		if begun := s.sh(h.Name, "ls /etc/kubernetes/manifests/* /var/lib/kubelet/config.yaml 2>/dev/null; crictl pods --quiet"); begun != "" {
			t.Errorf("something runs on %s although an image is missing:\n%s", h.Name, begun)
		}
	}

	m.push(scheduler)
	r := s.must("apply", "-auto-approve", "-no-color")
	t.Logf("apply of a control plane and a worker with images from a registry: %s", r.took.Round(100*time.Millisecond))
	s.wantCluster()
	s.settled()
	s.wantNoOperation()
	for _, image := range strings.Fields(s.kubectl("get", "pods", "-n", "kube-system", "-o", "jsonpath={.items[*].spec.containers[*].image}")) {
		if !strings.HasPrefix(image, m.repository+"/") {
			t.Errorf("a pod runs image %s, want one from %s", image, m.repository)
		}
	}

	t.Run("absent", func(t *testing.T) { s.within(t, func() { s.absentImage(m) }) })
	t.Run("removed", func(t *testing.T) { s.within(t, func() { s.removedImage(m, "crictl") }) })
	t.Run("removed without crictl", func(t *testing.T) {
		s.within(t, func() {
			w := s.workers[0].Name
			s.sh(w, "mv /usr/bin/crictl /usr/bin/crictl.away")
			s.removedImage(m, "ctr")
			s.sh(w, "mv /usr/bin/crictl.away /usr/bin/crictl")
		})
	})
	if !t.Failed() {
		s.wantCluster()
		s.wantGone(before)
	}
}

// wantServedCRI checks that a host whose containerd is configured as in Docker's package is
// refused before anything is changed.
func (s *site) wantServedCRI(h lab.Host) {
	s.t.Helper()
	s.sh(h.Name, `cd /etc/containerd && mv config.toml /root && printf 'disabled_plugins = ["cri"]\n' >config.toml && systemctl restart containerd`)
	r := s.run("plan", "-no-color")
	s.sh(h.Name, "mv /root/config.toml /etc/containerd && systemctl restart containerd")
	if r.code != 1 || !strings.Contains(strings.Join(strings.Fields(r.out), " "), "containerd is running but does not serve the CRI") {
		s.t.Errorf("a host whose containerd does not serve the CRI: exit code %d\n%s", r.code, r.out)
	}
}

// wantNotPulled checks that apply fails and names the image that a host cannot pull.
func (s *site) wantNotPulled(h lab.Host, image string) {
	s.t.Helper()
	r := s.run("apply", "-auto-approve", "-no-color")
	if r.code != 1 {
		s.t.Errorf("apply with an image that does not exist: exit code %d, want 1", r.code)
	}
	wantContains(s.t, words(r.out), fmt.Sprintf("node.cp[%q]/images (%s)", h.Name, h.Address()), "cannot pull image "+image, "not found", "To do: ")
}

// absentImage configures an image that the registry does not have, and checks that nothing in the
// running cluster changes.
func (s *site) absentImage(m *mirror) {
	extra := s.extra
	before := s.stands()
	s.extra += "  dns { image_tag = \"v9.9.9\" }\n"
	s.configure()
	s.wantNotPulled(s.planes[0], m.repository+"/coredns:v9.9.9")
	s.wantUntouched(before, " /var/lib/kubewright")
	s.extra = extra
	s.configure()
	s.wantNoChanges()
}

// removedImage removes an image from a host, and checks that the given client of the runtime
// pulls it again.
func (s *site) removedImage(m *mirror, client string) {
	w := s.workers[0]
	image := m.repository + "/kube-proxy:" + s.Release().Kubernetes
	s.sh(w.Name, "ctr --namespace k8s.io images remove --sync "+image)
	s.eventually("the runtime no longer has "+image, func() (string, bool) {
		out := s.sh(w.Name, "ctr --namespace k8s.io images list --quiet")
		return out, !strings.Contains(out, image)
	})
	before := s.processes()
	m.asked(w)
	r := s.must("apply", "-auto-approve", "-no-color")
	wantContains(s.t, r.out, fmt.Sprintf("+ image %q", image), "Plan: 0 to add, 1 to change, 0 to destroy.", "Apply complete!")
	if n := m.asked(w); n == 0 {
		s.t.Errorf("%s has not pulled %s from the registry with %s", w.Name, image, client)
	}
	wantContains(s.t, s.sh(w.Name, "ctr --namespace k8s.io images list --quiet"), image)
	s.wantNoChanges()
	if now := s.processes(); now != before {
		s.t.Errorf("something was restarted:\n%s\nbefore:\n%s", now, before)
	}
}

// mirror is a registry in the lab's network.
type mirror struct {
	*site
	// repository is the repository with the images of Kubernetes.
	repository string

	mu       sync.Mutex
	requests map[string]int // by address
}

// mirror serves an empty registry to the hosts, whose runtime is configured to use plain HTTP for
// it.
func (s *site) mirror() *mirror {
	s.t.Helper()
	m := &mirror{site: s, requests: map[string]int{}}
	address := s.registry(func(r *http.Request) {
		from, _, _ := net.SplitHostPort(r.RemoteAddr)
		m.mu.Lock()
		m.requests[from]++
		m.mu.Unlock()
	})
	m.repository = address + "/mirror/kubernetes"
	s.pullFrom(address, address)
	return m
}

// registry serves an empty registry in the lab's network, and returns its address. asked is called
// for each request for a manifest.
func (s *site) registry(asked func(*http.Request)) string {
	s.t.Helper()
	_, address := s.Endpoint()
	l, err := net.Listen("tcp", netip.AddrPortFrom(address.Addr(), 0).String())
	if err != nil {
		s.t.Fatal(err)
	}
	images := registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithBlobHandler(registry.NewDiskBlobHandler(s.t.TempDir())))
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/manifests/") {
			asked(r)
		}
		images.ServeHTTP(w, r)
	})}
	go func() { _ = server.Serve(l) }()
	s.t.Cleanup(func() { _ = server.Close() })
	return l.Addr().String()
}

// pullFrom lets the hosts' runtime pull the images of registries from the one at an address, over
// plain HTTP.
func (s *site) pullFrom(address string, registries ...string) {
	s.t.Helper()
	settings := fmt.Sprintf("server = \"http://%[1]s\"\n[host.\"http://%[1]s\"]\n  capabilities = [\"pull\", \"resolve\"]\n", address)
	for _, h := range s.hosts() {
		for _, name := range registries {
			folder := "/etc/containerd/certs.d/" + name
			s.sh(h.Name, "mkdir -p "+folder+" && cat >"+folder+"/hosts.toml <<'E'\n"+settings+"E\n")
		}
		// The default is a list of two folders, in which the runtime finds nothing.
		s.sh(h.Name, "grep -q certs.d /etc/containerd/config.toml || { printf '\\n[plugins.\"io.containerd.cri.v1.images\".registry]\\n  config_path = \"/etc/containerd/certs.d\"\\n' >>/etc/containerd/config.toml && systemctl restart containerd; }")
	}
}

// offer serves images, as archives, to the hosts under the names that they have: for tests that
// pull what is there already.
func (s *site) offer(archives []string) {
	s.t.Helper()
	address := s.registry(func(*http.Request) {})
	names := map[string]bool{}
	for _, file := range archives {
		manifest, err := tarball.LoadManifest(func() (io.ReadCloser, error) { return os.Open(file) })
		if err != nil {
			s.t.Fatal(err)
		}
		for _, d := range manifest {
			for _, tag := range d.RepoTags {
				names[s.copyImage(file, tag, address)] = true
			}
		}
	}
	s.pullFrom(address, slices.Sorted(maps.Keys(names))...)
}

// copyImage pushes an image of an archive to the registry at an address, under its name but for the
// registry, and returns that one.
func (s *site) copyImage(file, tag, address string) string {
	s.t.Helper()
	from, err := name.NewTag(tag)
	if err != nil {
		s.t.Fatal(err)
	}
	content, err := tarball.ImageFromPath(file, &from)
	if err != nil {
		s.t.Fatal(err)
	}
	to, err := name.NewTag(address+"/"+from.RepositoryStr()+":"+from.TagStr(), name.Insecure)
	if err == nil {
		err = remote.Write(to, content)
	}
	if err != nil {
		s.t.Fatalf("cannot push %s: %v", tag, err)
	}
	return from.RegistryStr()
}

// push pushes one of the lab's images to the registry.
func (m *mirror) push(image string) {
	m.t.Helper()
	for i, file := range m.Artifacts().Images() {
		if path.Base(m.Release().Images()[i]) != image {
			continue
		}
		content, err := tarball.ImageFromPath(file, nil)
		if err != nil {
			m.t.Fatal(err)
		}
		to, err := name.ParseReference(m.repository+"/"+image, name.Insecure)
		if err == nil {
			err = remote.Write(to, content)
		}
		if err != nil {
			m.t.Fatalf("cannot push %s: %v", image, err)
		}
		fmt.Fprintf(os.Stderr, "pushed %s\n", to)
		return
	}
	m.t.Fatalf("the lab has no image %s", image)
}

// asked returns how many manifests a host has requested since the last count.
func (m *mirror) asked(h lab.Host) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	from := h.Address().String()
	n := m.requests[from]
	delete(m.requests, from)
	return n
}

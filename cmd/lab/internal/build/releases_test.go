package build

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestFindRelease(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"", "v1.36.3", "1.36.3"} {
		r, err := FindRelease(version)
		if err != nil || r.Kubernetes != DefaultKubernetes {
			t.Errorf("FindRelease(%q) = %v, %v; want %s", version, r, err, DefaultKubernetes)
		}
	}
	_, err := FindRelease("v1.2.3")
	if err == nil || !strings.Contains(err.Error(), "v1.34.9") {
		t.Errorf("FindRelease of an unknown version: %v; want an error that lists the known ones", err)
	}
}

func TestReleasesAreWellFormed(t *testing.T) {
	t.Parallel()
	version := regexp.MustCompile(`^v\d+\.\d+\.\d+$`)
	for _, r := range Releases() {
		for _, v := range []string{r.Kubernetes, r.Etcd, r.CoreDNS, "v" + r.Pause, r.Staging()} {
			if !version.MatchString(v) {
				t.Errorf("release %s names version %q", r.Kubernetes, v)
			}
		}
		if want := "v1." + r.Minor() + "."; !strings.HasPrefix(r.Kubernetes, want) {
			t.Errorf("minor of %s = %s", r.Kubernetes, r.Minor())
		}
		programs := r.Programs()
		for _, name := range append(artifactPrograms(), "kube-apiserver", "etcd", "etcdctl", "etcdutl", "coredns") {
			if !slices.Contains(programs, name) {
				t.Errorf("release %s cannot build %s", r.Kubernetes, name)
			}
		}
	}
}

// TestImagesMatchKubeadm compares with the names that "kubeadm config images list" prints for v1.36.3.
func TestImagesMatchKubeadm(t *testing.T) {
	t.Parallel()
	r, err := FindRelease("v1.36.3")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"registry.k8s.io/kube-apiserver:v1.36.3",
		"registry.k8s.io/kube-controller-manager:v1.36.3",
		"registry.k8s.io/kube-scheduler:v1.36.3",
		"registry.k8s.io/kube-proxy:v1.36.3",
		"registry.k8s.io/coredns/coredns:v1.14.2",
		"registry.k8s.io/pause:3.10.2",
		"registry.k8s.io/etcd:3.6.8-0",
		WorkloadImage,
	}
	if got := r.Images(); !slices.Equal(got, want) {
		t.Errorf("images\n got %q\nwant %q", got, want)
	}
	if got, want := imageFile(want[4]), "registry.k8s.io_coredns_coredns_v1.14.2.tar"; got != want {
		t.Errorf("file of an image: got %s, want %s", got, want)
	}
}

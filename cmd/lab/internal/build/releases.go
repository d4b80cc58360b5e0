package build

import (
	"fmt"
	"strings"
)

// DefaultKubernetes is the release used if none is named.
const DefaultKubernetes = "v1.36.3"

// Versions for every release. Kubernetes of all supported minors uses CRI v1, so one runtime and
// one crictl are enough.
const (
	containerdVersion = "v2.4.2"
	crictlVersion     = "v1.36.0"
)

// A Release is a version of Kubernetes and the versions that its kubeadm names as defaults
// (cmd/kubeadm/app/constants of that version). All start with "v" except Pause, which is an image
// tag.
type Release struct {
	Kubernetes string
	Etcd       string
	CoreDNS    string
	Pause      string
}

// Releases returns the releases that the lab can build, oldest first.
func Releases() []Release {
	return []Release{
		{Kubernetes: "v1.34.9", Etcd: "v3.6.5", CoreDNS: "v1.12.1", Pause: "3.10.1"},
		{Kubernetes: "v1.35.8", Etcd: "v3.6.6", CoreDNS: "v1.13.1", Pause: "3.10.1"},
		{Kubernetes: "v1.36.3", Etcd: "v3.6.8", CoreDNS: "v1.14.2", Pause: "3.10.2"},
		{Kubernetes: "v1.37.1", Etcd: "v3.7.0", CoreDNS: "v1.14.6", Pause: "3.10.2"},
	}
}

// FindRelease returns the release of a Kubernetes version, written with or without the leading
// "v"; an empty version is the default one.
func FindRelease(version string) (Release, error) {
	if version == "" {
		version = DefaultKubernetes
	}
	want := "v" + strings.TrimPrefix(version, "v")
	var known []string
	for _, r := range Releases() {
		if r.Kubernetes == want {
			return r, nil
		}
		known = append(known, r.Kubernetes)
	}
	return Release{}, fmt.Errorf("cannot build Kubernetes %s: known versions are %s", version, strings.Join(known, ", "))
}

// Staging returns the version of the k8s.io libraries that were published with the release:
// v0.36.3 for v1.36.3.
func (r Release) Staging() string {
	return "v0." + strings.TrimPrefix(r.Kubernetes, "v1.")
}

// Minor returns the minor version as text: "36".
func (r Release) Minor() string {
	_, rest, _ := strings.Cut(r.Kubernetes, ".")
	minor, _, _ := strings.Cut(rest, ".")
	return minor
}

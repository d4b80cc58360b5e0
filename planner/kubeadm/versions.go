package kubeadm

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/config"
)

// The minor versions of Kubernetes that this package supports.
const (
	MinMinor = config.MinMinor
	MaxMinor = config.MaxMinor
)

// release describes kubeadm of one minor version: its images and its behaviour. A field named
// since… holds the first patch release of the minor version with that behaviour.
type release struct {
	minor int
	// newest is the newest patch release that was read.
	newest int
	// etcd, coreDNS and pause are the image tags of the newest patch release; older holds those of
	// earlier patch releases.
	etcd, coreDNS, pause string
	older                []olderImages

	// podInfraImage: kubeadm passes the kubelet the pause image as a flag.
	podInfraImage bool
	// localSocketGate: the gate NodeLocalCRISocket exists and can be off, which makes the runtime's
	// endpoint a flag again.
	localSocketGate bool
	// localModeGate: the gate ControlPlaneKubeletLocalMode exists and can be off.
	localModeGate bool
	// ecdsaGate: the deprecated gate PublicKeysECDSA exists.
	ecdsaGate bool
	// flexVolume: the controller manager mounts the folder of flexvolume plugins.
	flexVolume bool
	// etcdFlagsByTag: etcd's flags have their experimental names for an image before 3.6.
	etcdFlagsByTag bool
	// httpEndpoints: etcd.external has httpEndpoints.
	httpEndpoints bool
	// sharedResolver: the first control plane's resolvConf is stored in the kubelet-config
	// ConfigMap.
	sharedResolver bool
	// proxyMode is written into kube-proxy's configuration if none is given.
	proxyMode string
	// proxyPatch: patches may target kubeproxydaemonset.
	proxyPatch bool
	// sincePlainClient: the API server's client certificate for kubelets has no organization; its
	// permissions come from its own binding.
	sincePlainClient int
	// sinceUserOrder: extra arguments keep the user's order after the sorted rest.
	sinceUserOrder int
	// unknownKubelet lists fields of KubeletConfiguration that later versions have added.
	unknownKubelet []string

	// plainClient and userOrder are the since… fields evaluated for one version.
	plainClient, userOrder bool
}

// olderImages are the image tags of patch releases before a given one.
type olderImages struct {
	before               int
	etcd, coreDNS, pause string
}

// releases is the version table, by minor version from MinMinor on. Read from kubeadm 1.34.1,
// 1.34.2, 1.34.9, 1.35.0, 1.35.8, 1.36.0, 1.36.3 and 1.37.1; the patch releases of changes are
// those of the changelogs: order of arguments 1.34.4, 1.35.1 and 1.36.0; permissions of the kubelet
// client 1.34.8, 1.35.5, 1.36.1 and 1.37.0 (kubernetes/kubernetes pull requests 138958 to 138960).
var releases = [...]release{
	{
		minor: 34, newest: 9, etcd: "3.6.5-0", coreDNS: "v1.12.1", pause: "3.10.1",
		older:         []olderImages{{before: 2, etcd: "3.6.4-0", coreDNS: "v1.12.1", pause: "3.10.1"}},
		podInfraImage: true, localSocketGate: true, localModeGate: true, ecdsaGate: true,
		flexVolume: true, etcdFlagsByTag: true, sharedResolver: true,
		sincePlainClient: 8, sinceUserOrder: 4,
		unknownKubelet: []string{"tlsCurvePreferences", "defaultPodSysctls", "memoryReservationPolicy"},
	},
	{
		minor: 35, newest: 8, etcd: "3.6.6-0", coreDNS: "v1.13.1", pause: "3.10.1",
		localSocketGate: true, ecdsaGate: true,
		flexVolume: true, etcdFlagsByTag: true, httpEndpoints: true, sharedResolver: true,
		sincePlainClient: 5, sinceUserOrder: 1,
		unknownKubelet: []string{"tlsCurvePreferences", "defaultPodSysctls", "memoryReservationPolicy"},
	},
	{
		minor: 36, newest: 3, etcd: "3.6.8-0", coreDNS: "v1.14.2", pause: "3.10.2",
		ecdsaGate: true, httpEndpoints: true, sharedResolver: true,
		sincePlainClient: 1,
		unknownKubelet:   []string{"defaultPodSysctls"},
	},
	{
		minor: 37, newest: 1, etcd: "3.7.0-0", coreDNS: "v1.14.6", pause: "3.10.2",
		httpEndpoints: true, proxyMode: "iptables", proxyPatch: true,
	},
}

// KnownReleases returns the newest known patch releases, without v, by minor version.
func KnownReleases() map[int]string {
	out := map[int]string{}
	for _, r := range releases {
		out[r.minor] = fmt.Sprintf("1.%d.%d", r.minor, r.newest)
	}
	return out
}

// releaseOf returns the row for a version, with the differences of its patch release applied. A
// version outside the table gets the nearest row, as in kubeadm for the etcd version.
func releaseOf(version string) release {
	minor, patch := minorPatch(version)
	r := releases[min(max(minor, MinMinor), MaxMinor)-MinMinor]
	if minor > MaxMinor {
		patch = math.MaxInt
	}
	for _, o := range r.older {
		if patch < o.before {
			r.etcd, r.coreDNS, r.pause = o.etcd, o.coreDNS, o.pause
			break
		}
	}
	r.plainClient, r.userOrder = patch >= r.sincePlainClient, patch >= r.sinceUserOrder
	return r
}

// minorPatch parses 1.36.3, with or without v and suffixes.
func minorPatch(version string) (minor, patch int) {
	version, _, _ = strings.Cut(strings.TrimPrefix(version, "v"), "+")
	version, _, _ = strings.Cut(version, "-")
	parts := strings.Split(version, ".")
	if len(parts) > 1 {
		minor, _ = strconv.Atoi(parts[1])
	}
	if len(parts) > 2 {
		patch, _ = strconv.Atoi(parts[2])
	}
	return minor, patch
}

// CheckVersion reports an unsupported version of Kubernetes.
func CheckVersion(version string) error {
	minor, _ := minorPatch(version)
	if !strings.HasPrefix(strings.TrimPrefix(version, "v"), "1.") || minor < MinMinor || minor > MaxMinor {
		return fmt.Errorf("version %s of Kubernetes is not supported: versions 1.%d to 1.%d are", strings.TrimPrefix(version, "v"), MinMinor, MaxMinor)
	}
	return nil
}

// tag returns the image tag of a version: with v, and without characters that a tag cannot hold.
func tag(version string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '.', r == '_':
			return r
		}
		return '_'
	}, "v"+strings.TrimPrefix(version, "v"))
}

// coreImage returns the image of a component that is released with Kubernetes.
func (s *settings) coreImage(component string) string {
	return s.ImageRepository + "/" + component + ":" + tag(s.KubernetesVersion)
}

// PauseImage returns the image of pod sandboxes that kubeadm of the cluster's release expects in
// the runtime.
func PauseImage(in Input) string { return in.settings().pauseImage() }

func (s *settings) pauseImage() string { return s.ImageRepository + "/pause:" + s.release.pause }

// Images lists the images of kubeadm that a node runs, in the order in which kubeadm pulls them on
// a control plane. A worker needs kube-proxy, CoreDNS and pause; kubeadm itself pulls nothing
// there.
func Images(in Input) []string {
	s := in.settings()
	var images []string
	if s.controlPlane() {
		for _, c := range planeComponents {
			images = append(images, s.coreImage(c))
		}
	}
	if !s.KubeProxy.Disabled {
		images = append(images, s.coreImage("kube-proxy"))
	}
	if !s.DNS.Disabled {
		images = append(images, coreDNS{s}.image())
	}
	images = append(images, s.pauseImage())
	if s.controlPlane() && s.Etcd.External == nil {
		images = append(images, etcdMember{s}.image())
	}
	return images
}

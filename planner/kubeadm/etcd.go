package kubeadm

import (
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state"
)

// etcdMember renders the stacked etcd member of one control plane.
type etcdMember struct{ *settings }

// EtcdPod renders the manifest of a stacked etcd member. An empty initialCluster stands for this
// member alone, as in init; with existing the member joins the cluster of initialCluster.
func EtcdPod(in Input, initialCluster string, existing bool) ([]byte, error) {
	e := etcdMember{in.settings()}
	if e.Etcd.External != nil {
		return nil, errors.New("internal error: external etcd has no static pod")
	}
	if initialCluster == "" {
		initialCluster = e.name + "=" + httpsURL(e.advertise, etcdPeerPort)
	}
	pod, err := e.patchPod(e.pod(initialCluster))
	if err != nil {
		return nil, err
	}
	if existing {
		joining(&pod)
	}
	return podYAML(&pod)
}

// joining adds to a pod's command line that its member joins. Unlike kubeadm it does so after the
// patches: patches with indices of arguments would otherwise fit either the first member or the
// others, and none once a member has data.
func joining(pod *corev1.Pod) {
	const members, joins = "--initial-cluster=", "--initial-cluster-state="
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		given := slices.ContainsFunc(c.Command, func(word string) bool { return strings.HasPrefix(word, joins) })
		at := slices.IndexFunc(c.Command, func(word string) bool { return strings.HasPrefix(word, members) })
		if at >= 0 && !given {
			c.Command = slices.Insert(c.Command, at+1, joins+"existing")
		}
	}
}

func (e etcdMember) pod(initialCluster string) corev1.Pod {
	var m mounts
	// Like in kubeadm, the mounts keep this order and are writable, even the certificates.
	m.add("etcd-data", e.Etcd.DataDir, e.Etcd.DataDir, false, corev1.HostPathDirectoryOrCreate)
	m.add("etcd-certs", e.pki("etcd"), e.pki("etcd"), false, corev1.HostPathDirectoryOrCreate)
	m.extra(e.Etcd.Mounts)
	order := slices.Clone(m.mounts)
	m.sort()
	m.mounts = order
	requests := cpu("100m")
	requests[corev1.ResourceMemory] = resource.MustParse("100Mi")
	p := e.probe()
	p.liveness, p.readiness, p.startup = "/livez", "/readyz", "/readyz"
	return e.staticPod(component{
		name: "etcd", image: e.image(), mounts: m,
		args: e.arguments(e.args(initialCluster), e.Etcd.Args), requests: requests, probe: p,
		// etcd does not get the proxy environment.
		env: (&settings{}).env(e.Etcd.Envs),
		// kubeadm finds the members by this annotation.
		annotations: map[string]string{
			"kubeadm.kubernetes.io/etcd.advertise-client-urls": httpsURL(e.advertise, etcdClientPort),
		},
	})
}

func (e etcdMember) args(initialCluster string) []state.Arg {
	client, peer := httpsURL(e.advertise, etcdClientPort), httpsURL(e.advertise, etcdPeerPort)
	return append([]state.Arg{
		{Name: "advertise-client-urls", Value: client},
		{Name: "cert-file", Value: e.pki("etcd/server.crt")},
		{Name: "client-cert-auth", Value: "true"},
		{Name: "data-dir", Value: e.Etcd.DataDir},
		{Name: "initial-advertise-peer-urls", Value: peer},
		{Name: "initial-cluster", Value: initialCluster},
		{Name: "key-file", Value: e.pki("etcd/server.key")},
		{Name: "listen-client-urls", Value: httpsURL(e.loopback(), etcdClientPort) + "," + client},
		{Name: "listen-metrics-urls", Value: "http://" + hostPort(e.loopback(), metricsPort)},
		{Name: "listen-peer-urls", Value: peer},
		{Name: "name", Value: e.name},
		{Name: "peer-cert-file", Value: e.pki("etcd/peer.crt")},
		{Name: "peer-client-cert-auth", Value: "true"},
		{Name: "peer-key-file", Value: e.pki("etcd/peer.key")},
		{Name: "peer-trusted-ca-file", Value: e.pki("etcd/ca.crt")},
		{Name: "snapshot-count", Value: "10000"},
		{Name: "trusted-ca-file", Value: e.pki("etcd/ca.crt")},
	}, e.watchArgs()...)
}

// watchArgs returns arguments that have had these names since etcd 3.6. Until 1.35 kubeadm passes
// an older image the older names; from 1.36 on it does not check the image.
func (e etcdMember) watchArgs() []state.Arg {
	if e.release.etcdFlagsByTag && !atLeast(e.tag(), renamedEtcdArgs) {
		return []state.Arg{
			{Name: "experimental-initial-corrupt-check", Value: "true"},
			{Name: "experimental-watch-progress-notify-interval", Value: "5s"},
		}
	}
	return []state.Arg{
		{Name: "feature-gates", Value: "InitialCorruptCheck=true"},
		{Name: "watch-progress-notify-interval", Value: "5s"},
	}
}

// renamedEtcdArgs is the first etcd version that supports these names.
const renamedEtcdArgs = "3.6.0"

// EtcdTakesArgs reports whether the etcd of the image supports the arguments that it gets. It
// assumes so for a tag that is no version.
func EtcdTakesArgs(in Input) bool {
	e := etcdMember{in.settings()}
	return e.release.etcdFlagsByTag || !NewerTag(renamedEtcdArgs, e.tag())
}

// atLeast compares a tag as a semantic version; a tag that is none counts as older.
func atLeast(tag, than string) bool {
	v, err := version.ParseSemantic(tag)
	return err == nil && v.AtLeast(version.MustParseSemantic(than))
}

// NewerTag reports whether a tag has a newer version than another one. A tag that is no version is
// neither newer nor older.
func NewerTag(tag, than string) bool {
	v, err := version.ParseSemantic(tag)
	other, errOther := version.ParseSemantic(than)
	return err == nil && errOther == nil && other.LessThan(v)
}

// probe returns the probe of the first address at which etcd serves its metrics.
func (e etcdMember) probe() probe {
	p := probe{host: e.loopback(), port: metricsPort, scheme: corev1.URISchemeHTTP}
	urls, ok := lastArg(e.Etcd.Args, "listen-metrics-urls")
	if !ok {
		return p
	}
	first, _, _ := strings.Cut(urls, ",")
	u, err := url.Parse(first)
	if err != nil {
		return p
	}
	if u.Scheme == "https" {
		p.scheme = corev1.URISchemeHTTPS
	}
	p.host = firstOf(u.Hostname(), p.host)
	if port, err := strconv.Atoi(u.Port()); err == nil && port > 0 && port < 65536 {
		p.port = int32(port)
	}
	return p
}

// ClientURL returns the URL at which a member serves clients on other hosts.
func ClientURL(n *config.Node) string {
	return httpsURL(n.AdvertiseAddress(), etcdClientPort)
}

// PeerURL returns the URL at which the member with the address, in any notation, serves its peers.
func PeerURL(address string) string {
	return httpsURL(state.CanonicalIP(address), etcdPeerPort)
}

// sans returns the names and addresses of an etcd member's certificates.
func (e etcdMember) sans(extra []string) (dns, ips []string) {
	return splitSANs(append([]string{e.name, "localhost", e.advertise, "127.0.0.1", "::1"}, extra...))
}

func (e etcdMember) image() string {
	return firstOf(e.Etcd.ImageRepository, e.ImageRepository) + "/etcd:" + e.tag()
}

func (e etcdMember) tag() string { return firstOf(e.Etcd.ImageTag, e.release.etcd) }

// EtcdImage returns the image of stacked members.
func EtcdImage(in Input) string { return etcdMember{in.settings()}.image() }

// EtcdTag returns the tag of that image: the configured one, or the etcd version of the release.
func EtcdTag(in Input) string { return etcdMember{in.settings()}.tag() }

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

// EtcdPod renders the manifest of a stacked etcd member. An empty
// initialCluster names this member alone, as init does; with existing the
// member joins the cluster that initialCluster names.
func EtcdPod(in Input, initialCluster string, existing bool) ([]byte, error) {
	v := in.view()
	if v.Etcd.External != nil {
		return nil, errors.New("internal error: external etcd has no static pod")
	}
	if initialCluster == "" {
		initialCluster = v.name + "=" + httpsURL(v.advertise, etcdPeerPort)
	}
	pod, err := v.patchPod(v.etcd(initialCluster))
	if err != nil {
		return nil, err
	}
	if existing {
		joining(&pod)
	}
	return podYAML(&pod)
}

// joining says in a pod's command line that its member joins. It does so behind the
// patches, unlike kubeadm: those that name places of arguments would otherwise fit the
// founder or the others, and fit no member any more once it has data.
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

func (v *view) etcd(initialCluster string) corev1.Pod {
	var m mounts
	// The mounts keep this order and are writable, the certificates too: so kubeadm has it.
	m.add("etcd-data", v.Etcd.DataDir, v.Etcd.DataDir, false, corev1.HostPathDirectoryOrCreate)
	m.add("etcd-certs", v.pki("etcd"), v.pki("etcd"), false, corev1.HostPathDirectoryOrCreate)
	order := slices.Clone(m.mounts)
	m.sort()
	m.mounts = order
	requests := cpu("100m")
	requests[corev1.ResourceMemory] = resource.MustParse("100Mi")
	p := v.etcdProbe()
	p.liveness, p.readiness, p.startup = "/livez", "/readyz", "/readyz"
	return v.pod(component{
		name: "etcd", image: v.etcdImage(), mounts: m,
		args: v.arguments(v.etcdArgs(initialCluster), v.Etcd.Args), requests: requests, probe: p,
		// The proxies' environment is not etcd's.
		env: (&view{}).env(v.Etcd.Envs),
		// By this annotation kubeadm finds the members.
		annotations: map[string]string{
			"kubeadm.kubernetes.io/etcd.advertise-client-urls": httpsURL(v.advertise, etcdClientPort),
		},
	})
}

func (v *view) etcdArgs(initialCluster string) []state.Arg {
	client, peer := httpsURL(v.advertise, etcdClientPort), httpsURL(v.advertise, etcdPeerPort)
	return append([]state.Arg{
		{Name: "advertise-client-urls", Value: client},
		{Name: "cert-file", Value: v.pki("etcd/server.crt")},
		{Name: "client-cert-auth", Value: "true"},
		{Name: "data-dir", Value: v.Etcd.DataDir},
		{Name: "initial-advertise-peer-urls", Value: peer},
		{Name: "initial-cluster", Value: initialCluster},
		{Name: "key-file", Value: v.pki("etcd/server.key")},
		{Name: "listen-client-urls", Value: httpsURL(v.loopback(), etcdClientPort) + "," + client},
		{Name: "listen-metrics-urls", Value: "http://" + hostPort(v.loopback(), metricsPort)},
		{Name: "listen-peer-urls", Value: peer},
		{Name: "name", Value: v.name},
		{Name: "peer-cert-file", Value: v.pki("etcd/peer.crt")},
		{Name: "peer-client-cert-auth", Value: "true"},
		{Name: "peer-key-file", Value: v.pki("etcd/peer.key")},
		{Name: "peer-trusted-ca-file", Value: v.pki("etcd/ca.crt")},
		{Name: "snapshot-count", Value: "10000"},
		{Name: "trusted-ca-file", Value: v.pki("etcd/ca.crt")},
	}, v.etcdWatchArgs()...)
}

// etcdWatchArgs have had these names since etcd 3.6. Until 1.35 kubeadm gives
// an older image the older names; from 1.36 on it does not look.
func (v *view) etcdWatchArgs() []state.Arg {
	if v.release.etcdFlagsByTag && !atLeast(v.etcdTag(), renamedEtcdArgs) {
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

// renamedEtcdArgs is the first etcd that knows these names.
const renamedEtcdArgs = "3.6.0"

// EtcdTakesArgs reports whether the etcd of the image knows the arguments that it is given.
// What a tag that is no version knows is its owner's to say.
func EtcdTakesArgs(in Input) bool {
	v := in.view()
	return v.release.etcdFlagsByTag || !NewerTag(renamedEtcdArgs, v.etcdTag())
}

// atLeast compares a tag as a semantic version; what is none is older.
func atLeast(tag, than string) bool {
	v, err := version.ParseSemantic(tag)
	return err == nil && v.AtLeast(version.MustParseSemantic(than))
}

// NewerTag reports whether a tag is that of a newer version than another. What is no version
// is neither newer nor older.
func NewerTag(tag, than string) bool {
	v, err := version.ParseSemantic(tag)
	other, errOther := version.ParseSemantic(than)
	return err == nil && errOther == nil && other.LessThan(v)
}

// etcdProbe asks the first of the addresses at which etcd serves its metrics.
func (v *view) etcdProbe() probe {
	p := probe{host: v.loopback(), port: metricsPort, scheme: corev1.URISchemeHTTP}
	urls, ok := lastArg(v.Etcd.Args, "listen-metrics-urls")
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

// ClientURL returns where a member serves clients of other hosts.
func ClientURL(n *config.Node) string {
	return httpsURL(n.AdvertiseAddress(), etcdClientPort)
}

// PeerURL returns where a member serves its peers that has this address, however that is
// written.
func PeerURL(address string) string {
	return httpsURL(state.CanonicalIP(address), etcdPeerPort)
}

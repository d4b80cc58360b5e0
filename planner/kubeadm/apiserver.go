package kubeadm

import (
	"path"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubewright/kubewright/state"
)

// apiServer renders kube-apiserver of one control plane.
type apiServer struct{ *settings }

func (a apiServer) pod() corev1.Pod {
	m := a.certificateMounts()
	if a.Etcd.External != nil {
		a.etcdMounts(&m)
	}
	m.extra(a.APIServer.Volumes)
	m.sort()
	return a.staticPod(component{
		name: "kube-apiserver", image: a.coreImage("kube-apiserver"), mounts: m,
		args: a.arguments(a.args(), a.APIServer.Args), env: a.env(a.APIServer.Envs), requests: cpu("250m"),
		// kubeadm finds the API servers' own addresses by this annotation.
		annotations: map[string]string{
			"kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint": hostPort(a.advertise, a.BindPort),
		},
		probe: probe{
			host: probeHost(a.advertise), port: int32(a.BindPort), scheme: corev1.URISchemeHTTPS,
			liveness: "/livez", readiness: "/readyz", startup: "/livez",
		},
	})
}

func (a apiServer) args() []state.Arg {
	args := []state.Arg{
		{Name: "advertise-address", Value: a.advertise},
		{Name: "allow-privileged", Value: "true"},
		{Name: "client-ca-file", Value: a.pki("ca.crt")},
		{Name: "enable-admission-plugins", Value: "NodeRestriction"},
		{Name: "enable-bootstrap-token-auth", Value: "true"},
		{Name: "kubelet-client-certificate", Value: a.pki("apiserver-kubelet-client.crt")},
		{Name: "kubelet-client-key", Value: a.pki("apiserver-kubelet-client.key")},
		{Name: "kubelet-preferred-address-types", Value: "InternalIP,ExternalIP,Hostname"},
		{Name: "proxy-client-cert-file", Value: a.pki("front-proxy-client.crt")},
		{Name: "proxy-client-key-file", Value: a.pki("front-proxy-client.key")},
		{Name: "requestheader-allowed-names", Value: "front-proxy-client"},
		{Name: "requestheader-client-ca-file", Value: a.pki("front-proxy-ca.crt")},
		{Name: "requestheader-extra-headers-prefix", Value: "X-Remote-Extra-"},
		{Name: "requestheader-group-headers", Value: "X-Remote-Group"},
		{Name: "requestheader-username-headers", Value: "X-Remote-User"},
		{Name: "secure-port", Value: portString(a.BindPort)},
		{Name: "service-account-issuer", Value: "https://kubernetes.default.svc." + a.Network.DNSDomain},
		{Name: "service-account-key-file", Value: a.pki("sa.pub")},
		{Name: "service-account-signing-key-file", Value: a.pki("sa.key")},
		{Name: "service-cluster-ip-range", Value: a.Network.ServiceSubnet},
		{Name: "tls-cert-file", Value: a.pki("apiserver.crt")},
		{Name: "tls-private-key-file", Value: a.pki("apiserver.key")},
	}
	// A structured authorization configuration excludes the list of modes.
	if _, structured := lastArg(a.APIServer.Args, "authorization-config"); !structured {
		args = append(args, state.Arg{Name: "authorization-mode", Value: "Node,RBAC"})
	}
	return append(args, a.etcdArgs()...)
}

// etcdArgs returns the arguments by which the API server reaches etcd.
func (a apiServer) etcdArgs() []state.Arg {
	if e := a.Etcd.External; e != nil {
		args := []state.Arg{{Name: "etcd-servers", Value: strings.Join(e.Endpoints, ",")}}
		if e.CAFile != "" {
			args = append(args, state.Arg{Name: "etcd-cafile", Value: e.CAFile})
		}
		if e.CertFile != "" && e.KeyFile != "" {
			args = append(args, state.Arg{Name: "etcd-certfile", Value: e.CertFile}, state.Arg{Name: "etcd-keyfile", Value: e.KeyFile})
		}
		return args
	}
	servers := httpsURL(a.loopback(), etcdClientPort)
	if urls, ok := lastArg(a.Etcd.Args, "advertise-client-urls"); ok {
		servers = urls
	}
	return []state.Arg{
		{Name: "etcd-servers", Value: servers},
		{Name: "etcd-cafile", Value: a.pki("etcd/ca.crt")},
		{Name: "etcd-certfile", Value: a.pki("apiserver-etcd-client.crt")},
		{Name: "etcd-keyfile", Value: a.pki("apiserver-etcd-client.key")},
	}
}

// etcdMounts mounts the folders of an external etcd's CA, certificate and key that no other mount
// covers. As in kubeadm, a folder counts as parent if it is a string prefix, and CA folders count
// as mounted whether they exist or not.
func (a apiServer) etcdMounts(m *mounts) {
	var dirs []string
	for _, file := range []string{a.Etcd.External.CAFile, a.Etcd.External.CertFile, a.Etcd.External.KeyFile} {
		dir := path.Dir(file)
		if dir == "." || a.mountsCertificates(dir) {
			continue
		}
		covered := slices.ContainsFunc(dirs, func(d string) bool {
			return !strings.HasPrefix(d, dir) && strings.HasPrefix(dir, d)
		})
		dirs = slices.DeleteFunc(dirs, func(d string) bool { return strings.HasPrefix(d, dir) })
		if !covered {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	for i, dir := range dirs {
		m.folder("etcd-certs-"+strconv.Itoa(i), dir)
	}
}

func (a apiServer) mountsCertificates(dir string) bool {
	return slices.ContainsFunc(append([]string{sslCerts, a.Certificates.Dir}, extraCADirs...), func(mounted string) bool {
		return strings.HasPrefix(dir, mounted)
	})
}

// sans returns the names and addresses of an API server's certificate.
func (a apiServer) sans() (dns, ips []string) {
	names := []string{a.name, "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc." + a.Network.DNSDomain}
	names = append(names, indexedIP(a.Network.ServiceSubnet, 1), a.advertise)
	if a.ControlPlaneEndpoint != "" {
		names = append(names, hostOf(a.ControlPlaneEndpoint))
	}
	return splitSANs(append(names, a.APIServer.CertSANs...))
}

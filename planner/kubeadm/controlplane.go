package kubeadm

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubewright/kubewright/state"
)

// apiServer is kube-apiserver's pod.
func (v *view) apiServer() corev1.Pod {
	m := v.certificateMounts()
	if v.Etcd.External != nil {
		v.etcdClientFolders(&m)
	}
	m.extra(v.APIServer.Volumes)
	m.sort()
	return v.pod(component{
		name: "kube-apiserver", image: v.coreImage("kube-apiserver"), mounts: m,
		args: v.arguments(v.apiServerArgs(), v.APIServer.Args), env: v.env(v.APIServer.Envs), requests: cpu("250m"),
		// By this annotation kubeadm finds the API servers' own addresses.
		annotations: map[string]string{
			"kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint": hostPort(v.advertise, v.BindPort),
		},
		probe: probe{
			host: probeHost(v.advertise), port: int32(v.BindPort), scheme: corev1.URISchemeHTTPS,
			liveness: "/livez", readiness: "/readyz", startup: "/livez",
		},
	})
}

func (v *view) apiServerArgs() []state.Arg {
	args := []state.Arg{
		{Name: "advertise-address", Value: v.advertise},
		{Name: "allow-privileged", Value: "true"},
		{Name: "client-ca-file", Value: v.pki("ca.crt")},
		{Name: "enable-admission-plugins", Value: "NodeRestriction"},
		{Name: "enable-bootstrap-token-auth", Value: "true"},
		{Name: "kubelet-client-certificate", Value: v.pki("apiserver-kubelet-client.crt")},
		{Name: "kubelet-client-key", Value: v.pki("apiserver-kubelet-client.key")},
		{Name: "kubelet-preferred-address-types", Value: "InternalIP,ExternalIP,Hostname"},
		{Name: "proxy-client-cert-file", Value: v.pki("front-proxy-client.crt")},
		{Name: "proxy-client-key-file", Value: v.pki("front-proxy-client.key")},
		{Name: "requestheader-allowed-names", Value: "front-proxy-client"},
		{Name: "requestheader-client-ca-file", Value: v.pki("front-proxy-ca.crt")},
		{Name: "requestheader-extra-headers-prefix", Value: "X-Remote-Extra-"},
		{Name: "requestheader-group-headers", Value: "X-Remote-Group"},
		{Name: "requestheader-username-headers", Value: "X-Remote-User"},
		{Name: "secure-port", Value: portString(v.BindPort)},
		{Name: "service-account-issuer", Value: "https://kubernetes.default.svc." + v.Network.DNSDomain},
		{Name: "service-account-key-file", Value: v.pki("sa.pub")},
		{Name: "service-account-signing-key-file", Value: v.pki("sa.key")},
		{Name: "service-cluster-ip-range", Value: v.Network.ServiceSubnet},
		{Name: "tls-cert-file", Value: v.pki("apiserver.crt")},
		{Name: "tls-private-key-file", Value: v.pki("apiserver.key")},
	}
	// A structured authorization configuration excludes the list of modes.
	if _, structured := lastArg(v.APIServer.Args, "authorization-config"); !structured {
		args = append(args, state.Arg{Name: "authorization-mode", Value: "Node,RBAC"})
	}
	return append(args, v.etcdClientArgs()...)
}

// etcdClientArgs say how the API server reaches etcd.
func (v *view) etcdClientArgs() []state.Arg {
	if e := v.Etcd.External; e != nil {
		args := []state.Arg{{Name: "etcd-servers", Value: strings.Join(e.Endpoints, ",")}}
		if e.CAFile != "" {
			args = append(args, state.Arg{Name: "etcd-cafile", Value: e.CAFile})
		}
		if e.CertFile != "" && e.KeyFile != "" {
			args = append(args, state.Arg{Name: "etcd-certfile", Value: e.CertFile}, state.Arg{Name: "etcd-keyfile", Value: e.KeyFile})
		}
		return args
	}
	servers := httpsURL(v.loopback(), etcdClientPort)
	if urls, ok := lastArg(v.Etcd.Args, "advertise-client-urls"); ok {
		servers = urls
	}
	return []state.Arg{
		{Name: "etcd-servers", Value: servers},
		{Name: "etcd-cafile", Value: v.pki("etcd/ca.crt")},
		{Name: "etcd-certfile", Value: v.pki("apiserver-etcd-client.crt")},
		{Name: "etcd-keyfile", Value: v.pki("apiserver-etcd-client.key")},
	}
}

// loopback is of the family of the advertised address.
func (v *view) loopback() string {
	if isIPv6(v.advertise) {
		return "::1"
	}
	return "127.0.0.1"
}

// controllerManager is kube-controller-manager's pod.
func (v *view) controllerManager() corev1.Pod {
	m := v.certificateMounts()
	m.file("kubeconfig", kubernetesDir+"/controller-manager.conf")
	if v.release.flexVolume {
		dir, ok := lastArg(v.ControllerManager.Args, "flex-volume-plugin-dir")
		if !ok {
			dir = "/usr/libexec/kubernetes/kubelet-plugins/volume/exec"
		}
		m.add("flexvolume-dir", dir, dir, false, corev1.HostPathDirectoryOrCreate)
	}
	m.extra(v.ControllerManager.Volumes)
	m.sort()
	return v.pod(component{
		name: "kube-controller-manager", image: v.coreImage("kube-controller-manager"), mounts: m,
		args: v.arguments(v.controllerManagerArgs(), v.ControllerManager.Args),
		env:  v.env(v.ControllerManager.Envs), requests: cpu("200m"),
		probe: probe{
			host: bindHost(v.ControllerManager.Args), port: 10257, scheme: corev1.URISchemeHTTPS,
			liveness: "/healthz", startup: "/healthz",
		},
	})
}

func (v *view) controllerManagerArgs() []state.Arg {
	// It signs with a file of one certificate only.
	signingCert, signingKey := firstOf(v.signingCert, v.pki("ca.crt")), firstOf(v.signingKey, v.pki("ca.key"))
	if v.externalCA {
		// Empty values keep the signing controllers from starting.
		signingCert, signingKey = "", ""
	}
	args := append(kubeconfigArgs("controller-manager"),
		state.Arg{Name: "client-ca-file", Value: v.pki("ca.crt")},
		state.Arg{Name: "cluster-name", Value: v.Name},
		state.Arg{Name: "cluster-signing-cert-file", Value: signingCert},
		state.Arg{Name: "cluster-signing-key-file", Value: signingKey},
		state.Arg{Name: "controllers", Value: "*,bootstrapsigner,tokencleaner"},
		state.Arg{Name: "requestheader-client-ca-file", Value: v.pki("front-proxy-ca.crt")},
		state.Arg{Name: "root-ca-file", Value: v.pki("ca.crt")},
		state.Arg{Name: "service-account-private-key-file", Value: v.pki("sa.key")},
		state.Arg{Name: "use-service-account-credentials", Value: "true"},
	)
	if v.Network.PodSubnet != "" {
		args = append(args,
			state.Arg{Name: "allocate-node-cidrs", Value: "true"},
			state.Arg{Name: "cluster-cidr", Value: v.Network.PodSubnet},
			state.Arg{Name: "service-cluster-ip-range", Value: v.Network.ServiceSubnet})
	}
	return args
}

// scheduler is kube-scheduler's pod.
func (v *view) scheduler() corev1.Pod {
	var m mounts
	m.file("kubeconfig", kubernetesDir+"/scheduler.conf")
	m.extra(v.Scheduler.Volumes)
	m.sort()
	return v.pod(component{
		name: "kube-scheduler", image: v.coreImage("kube-scheduler"), mounts: m,
		args: v.arguments(kubeconfigArgs("scheduler"), v.Scheduler.Args),
		env:  v.env(v.Scheduler.Envs), requests: cpu("100m"),
		probe: probe{
			host: bindHost(v.Scheduler.Args), port: 10259, scheme: corev1.URISchemeHTTPS,
			liveness: "/livez", readiness: "/readyz", startup: "/livez",
		},
	})
}

// kubeconfigArgs returns those of a component that calls the API and elects a leader.
func kubeconfigArgs(name string) []state.Arg {
	path := kubernetesDir + "/" + name + ".conf"
	return []state.Arg{
		{Name: "authentication-kubeconfig", Value: path},
		{Name: "authorization-kubeconfig", Value: path},
		{Name: "bind-address", Value: "127.0.0.1"},
		{Name: "kubeconfig", Value: path},
		{Name: "leader-elect", Value: "true"},
	}
}

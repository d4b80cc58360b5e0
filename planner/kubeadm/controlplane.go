package kubeadm

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kubewright/kubewright/state"
)

// loopback returns the loopback address of the same family as the advertised address.
func (s *settings) loopback() string {
	if isIPv6(s.advertise) {
		return "::1"
	}
	return "127.0.0.1"
}

// controllerManager renders kube-controller-manager of one control plane.
type controllerManager struct{ *settings }

func (c controllerManager) pod() corev1.Pod {
	m := c.certificateMounts()
	m.file("kubeconfig", kubernetesDir+"/controller-manager.conf")
	if c.release.flexVolume {
		dir, ok := lastArg(c.ControllerManager.Args, "flex-volume-plugin-dir")
		if !ok {
			dir = "/usr/libexec/kubernetes/kubelet-plugins/volume/exec"
		}
		m.add("flexvolume-dir", dir, dir, false, corev1.HostPathDirectoryOrCreate)
	}
	m.extra(c.ControllerManager.Volumes)
	m.sort()
	return c.staticPod(component{
		name: "kube-controller-manager", image: c.coreImage("kube-controller-manager"), mounts: m,
		args: c.arguments(c.args(), c.ControllerManager.Args),
		env:  c.env(c.ControllerManager.Envs), requests: cpu("200m"),
		probe: probe{
			host: bindHost(c.ControllerManager.Args), port: 10257, scheme: corev1.URISchemeHTTPS,
			liveness: "/healthz", startup: "/healthz",
		},
	})
}

func (c controllerManager) args() []state.Arg {
	// It only signs with a file that holds a single certificate.
	signingCert, signingKey := firstOf(c.signingCert, c.pki("ca.crt")), firstOf(c.signingKey, c.pki("ca.key"))
	if c.externalCA {
		// Empty values keep the signing controllers from starting.
		signingCert, signingKey = "", ""
	}
	args := append(kubeconfigArgs("controller-manager"),
		state.Arg{Name: "client-ca-file", Value: c.pki("ca.crt")},
		state.Arg{Name: "cluster-name", Value: c.Name},
		state.Arg{Name: "cluster-signing-cert-file", Value: signingCert},
		state.Arg{Name: "cluster-signing-key-file", Value: signingKey},
		state.Arg{Name: "controllers", Value: "*,bootstrapsigner,tokencleaner"},
		state.Arg{Name: "requestheader-client-ca-file", Value: c.pki("front-proxy-ca.crt")},
		state.Arg{Name: "root-ca-file", Value: c.pki("ca.crt")},
		state.Arg{Name: "service-account-private-key-file", Value: c.pki("sa.key")},
		state.Arg{Name: "use-service-account-credentials", Value: "true"},
	)
	if c.Network.PodSubnet != "" {
		args = append(args,
			state.Arg{Name: "allocate-node-cidrs", Value: "true"},
			state.Arg{Name: "cluster-cidr", Value: c.Network.PodSubnet},
			state.Arg{Name: "service-cluster-ip-range", Value: c.Network.ServiceSubnet})
	}
	return args
}

// scheduler renders kube-scheduler of one control plane.
type scheduler struct{ *settings }

func (c scheduler) pod() corev1.Pod {
	var m mounts
	m.file("kubeconfig", kubernetesDir+"/scheduler.conf")
	m.extra(c.Scheduler.Volumes)
	m.sort()
	return c.staticPod(component{
		name: "kube-scheduler", image: c.coreImage("kube-scheduler"), mounts: m,
		args: c.arguments(kubeconfigArgs("scheduler"), c.Scheduler.Args),
		env:  c.env(c.Scheduler.Envs), requests: cpu("100m"),
		probe: probe{
			host: bindHost(c.Scheduler.Args), port: 10259, scheme: corev1.URISchemeHTTPS,
			liveness: "/livez", readiness: "/readyz", startup: "/livez",
		},
	})
}

// kubeconfigArgs returns the arguments of a component that calls the API and elects a leader.
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

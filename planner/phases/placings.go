package phases

import (
	"slices"

	"github.com/kubewright/kubewright/planner"
)

// componentRows are those of a static pod whose block of the cluster is that one.
func componentRows(block string) []placing {
	return []placing{
		place(block+".arg.*", "args.*"),
		place(block+".extra_env.*.value", "env.*"),
		place(block+".extra_env.*.value_from", "env.*"),
		place(block+".extra_env.*", "env.*"),
		place(block+".extra_volume.*.host_path", "volumes.*.hostPath.path"),
		place(block+".extra_volume.*.path_type", "volumes.*.hostPath.type"),
		place(block+".extra_volume.*.mount_path", "mounts.*.mountPath"),
		place(block+".extra_volume.*.read_only", "mounts.*.readOnly"),
	}
}

// planeRows are those of a component of the control plane, behind its own.
func planeRows(block string, more ...placing) []placing {
	return slices.Concat(componentRows(block), more, []placing{
		place("proxy_env.*", "env.*"),
		place("timeouts.control_plane_component_health_check", "probes.startup.failureThreshold"),
		place("certificates.dir",
			"args.client-ca-file", "args.requestheader-client-ca-file", "args.root-ca-file",
			"args.cluster-signing-cert-file", "args.cluster-signing-key-file", "args.service-account-private-key-file",
			"volumes.k8s-certs.hostPath.path", "mounts.k8s-certs.mountPath"),
	})
}

// probesAt are the addresses that the probes of a static pod ask.
var probesAt = []string{"probes.liveness.httpGet.host", "probes.readiness.httpGet.host", "probes.startup.httpGet.host"}

// advertised are the rows of values that have a node's address in them.
func advertised(values ...string) []placing {
	return []placing{place("advertise_addresses", values...), place("address", values...)}
}

// coreImage is the image of a static pod that has the version of Kubernetes.
var coreImage = []imagePlacing{{
	value: "image", at: "image", repository: []string{"image_repository"}, tag: []string{"kubernetes_version"},
}}

// podPlacings are those of the static pods.
var podPlacings = map[string]*placings{
	"kube-apiserver": {
		cluster: planeRows("api_server",
			place("bind_port", "args.secure-port", "pod.spec.container.ports"),
			place("network.service_subnet", "args.service-cluster-ip-range"),
			place("network.dns_domain", "args.service-account-issuer"),
			place("etcd.external.endpoints", "args.etcd-servers"),
			place("etcd.external.ca_file", "args.etcd-cafile"),
			place("etcd.external.cert_file", "args.etcd-certfile"),
			place("etcd.external.key_file", "args.etcd-keyfile"),
			place("etcd.external", "volumes.etcd-certs-0", "volumes.etcd-certs-1", "volumes.etcd-certs-2", "mounts.etcd-certs-0", "mounts.etcd-certs-1", "mounts.etcd-certs-2"),
			place("etcd.arg.advertise-client-urls", "args.etcd-servers"),
			place("certificates.dir",
				"args.kubelet-client-certificate", "args.kubelet-client-key", "args.proxy-client-cert-file", "args.proxy-client-key-file",
				"args.service-account-key-file", "args.service-account-signing-key-file", "args.tls-cert-file", "args.tls-private-key-file",
				"args.etcd-cafile", "args.etcd-certfile", "args.etcd-keyfile")),
		behind: advertised(append(slices.Clone(probesAt), "args.advertise-address",
			`annotations["kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint"]`)...),
		images: coreImage,
	},
	"kube-controller-manager": {
		cluster: planeRows("controller_manager",
			place("controller_manager.arg.bind-address", probesAt...),
			place("controller_manager.arg.flex-volume-plugin-dir", "volumes.flexvolume-dir.hostPath.path", "mounts.flexvolume-dir.mountPath"),
			place("cluster_name", "args.cluster-name"),
			place("network.pod_subnet", "args.cluster-cidr", "args.allocate-node-cidrs"),
			place("network.service_subnet", "args.service-cluster-ip-range")),
		images: coreImage,
	},
	"kube-scheduler": {
		cluster: planeRows("scheduler", place("scheduler.arg.bind-address", probesAt...)),
		images:  coreImage,
	},
	"etcd": {
		cluster: append(componentRows("etcd"),
			place("etcd.arg.listen-metrics-urls", append(slices.Clone(probesAt), "pod.spec.container.ports")...),
			place("etcd.data_dir", "args.data-dir", "volumes.etcd-data.hostPath.path", "mounts.etcd-data.mountPath"),
			place("timeouts.control_plane_component_health_check", "probes.startup.failureThreshold"),
			place("certificates.dir",
				"args.cert-file", "args.key-file", "args.trusted-ca-file", "args.peer-cert-file", "args.peer-key-file", "args.peer-trusted-ca-file",
				"volumes.etcd-certs.hostPath.path", "mounts.etcd-certs.mountPath")),
		behind: append(advertised(
			"args.advertise-client-urls", "args.initial-advertise-peer-urls", "args.listen-client-urls", "args.listen-peer-urls",
			`annotations["kubeadm.kubernetes.io/etcd.advertise-client-urls"]`),
			place("name", "args.name")),
		images: []imagePlacing{{
			value: "image", at: "image", repository: []string{"etcd.image_repository", "image_repository"}, tag: []string{"etcd.image_tag", "kubernetes_version"},
		}},
	},
}

// kubeletRows are those of a KubeletConfiguration, whose fields are below a path.
func kubeletRows(at string) []placing {
	return []placing{
		place("kubelet.config.**", at+"**"),
		place("network.service_subnet", at+"clusterDNS"),
		place("network.dns_domain", at+"clusterDomain"),
		place("certificates.dir", at+"authentication.x509.clientCAFile"),
	}
}

// The placings of the kubelet's files.
var (
	instancePlacings = &placings{before: []placing{place("cri_socket", "containerRuntimeEndpoint")}}
	kubeletPlacings  = &placings{
		before:  []placing{place("cri_socket", "containerRuntimeEndpoint"), place("kubelet.config.**", "**")},
		cluster: kubeletRows(""),
	}
	kubeletFlagPlacings = &placings{
		before: []placing{place("kubelet.arg.*", "args.*")},
		cluster: []placing{
			place("kubelet.arg.*", "args.*"),
			place("image_repository", "args.pod-infra-container-image"),
		},
		behind: []placing{
			place("taints", "args.register-with-taints"),
			place("taint.*", "args.register-with-taints"),
			place("cri_socket", "args.container-runtime-endpoint"),
			place("advertise_addresses", "args.node-ip"),
			place("name", "args.hostname-override"),
		},
	}
)

// storedRows are those of kubeadm's ClusterConfiguration, as the cluster keeps it.
func storedRows() []placing {
	const at = "data.ClusterConfiguration."
	rows := []placing{
		place("kubernetes_version", at+"kubernetesVersion"),
		place("control_plane_endpoint", at+"controlPlaneEndpoint"),
		place("cluster_name", at+"clusterName"),
		place("image_repository", at+"imageRepository"),
		place("feature_gates.*", at+"featureGates.*"),
		place("certificates.dir", at+"certificatesDir"),
		place("certificates.algorithm", at+"encryptionAlgorithm"),
		place("certificates.validity", at+"certificateValidityPeriod"),
		place("certificates.ca_validity", at+"caCertificateValidityPeriod"),
		place("network.service_subnet", at+"networking.serviceSubnet"),
		place("network.pod_subnet", at+"networking.podSubnet"),
		place("network.dns_domain", at+"networking.dnsDomain"),
		place("api_server.cert_sans", at+"apiServer.certSANs"),
		place("dns.image_repository", at+"dns.imageRepository"),
		place("dns.image_tag", at+"dns.imageTag"),
		place("dns.enabled", at+"dns.disabled"),
		place("kube_proxy.enabled", at+"proxy.disabled"),
		place("skip_phases", at+"dns.disabled", at+"proxy.disabled"),
		place("etcd.image_repository", at+"etcd.local.imageRepository"),
		place("etcd.image_tag", at+"etcd.local.imageTag"),
		place("etcd.data_dir", at+"etcd.local.dataDir"),
		place("etcd.server_cert_sans", at+"etcd.local.serverCertSANs"),
		place("etcd.peer_cert_sans", at+"etcd.local.peerCertSANs"),
		place("etcd.external.http_endpoints", at+"etcd.external.httpEndpoints"),
		place("etcd.external.endpoints", at+"etcd.external.endpoints", at+"etcd.external.httpEndpoints"),
		place("etcd.external.ca_file", at+"etcd.external.caFile"),
		place("etcd.external.cert_file", at+"etcd.external.certFile"),
		place("etcd.external.key_file", at+"etcd.external.keyFile"),
	}
	for block, field := range map[string]string{
		"api_server": "apiServer.", "controller_manager": "controllerManager.", "scheduler": "scheduler.", "etcd": "etcd.local.",
	} {
		rows = append(rows,
			place(block+".arg.*", at+field+"extraArgs.*"),
			place(block+".extra_env.*.value", at+field+"extraEnvs.*"),
			place(block+".extra_env.*.value_from", at+field+"extraEnvs.*"),
			place(block+".extra_env.*", at+field+"extraEnvs.*"),
			place(block+".extra_volume.*.host_path", at+field+"extraVolumes.*.hostPath"),
			place(block+".extra_volume.*.mount_path", at+field+"extraVolumes.*.mountPath"),
			place(block+".extra_volume.*.read_only", at+field+"extraVolumes.*.readOnly"),
			place(block+".extra_volume.*.path_type", at+field+"extraVolumes.*.pathType"))
	}
	return rows
}

// hashNote is the annotation of a configuration that is kubeadm's own: that it goes, the
// user's configuration wants.
const hashNote = `metadata.annotations["kubeadm.kubernetes.io/component-config.hash"]`

const podSpec = "spec.template.spec.containers."

// objectPlacings are those of kubeadm's objects, by kind and name; the others are all
// kubeadm's.
var objectPlacings = map[string]*placings{
	"ConfigMap/kubeadm-config": {cluster: storedRows()},
	"ConfigMap/kubelet-config": {cluster: append(kubeletRows("data.kubelet."), place("kubelet.config", hashNote))},
	"ConfigMap/kube-proxy": {
		cluster: []placing{
			place("kube_proxy.config.**", `data["config.conf"].**`),
			place("kube_proxy.config", hashNote),
			place("network.pod_subnet", `data["config.conf"].clusterCIDR`),
			place("control_plane_endpoint", `data["kubeconfig.conf"].clusters`),
		},
		behind: advertised(`data["kubeconfig.conf"].clusters`),
	},
	"ConfigMap/cluster-info": {
		cluster: []placing{place("control_plane_endpoint", "data.kubeconfig.server"), place(givenCertificate, planner.CASerial)},
		behind:  advertised("data.kubeconfig.server"),
	},
	"ConfigMap/coredns": {cluster: []placing{place("network.dns_domain", "data.Corefile")}},
	"Service/kube-dns":  {cluster: []placing{place("network.service_subnet", "spec.clusterIP")}},
	"Deployment/coredns": {images: []imagePlacing{{
		value: podSpec + "0.image", at: podSpec + "coredns.image",
		repository: []string{"dns.image_repository", "image_repository"}, tag: []string{"dns.image_tag", "kubernetes_version"},
	}}},
	"DaemonSet/kube-proxy": {
		cluster: []placing{place("proxy_env.*", podSpec+"kube-proxy.env.*")},
		images: []imagePlacing{{
			value: podSpec + "0.image", at: podSpec + "kube-proxy.image", repository: []string{"image_repository"}, tag: []string{"kubernetes_version"},
		}},
	},
	"Role/kubeadm:kubeadm-certs":        {cluster: []placing{place("upload_certs", "")}},
	"RoleBinding/kubeadm:kubeadm-certs": {cluster: []placing{place("upload_certs", "")}},
}

// kubeadmsOwn are the placings of objects that no setting is in.
var kubeadmsOwn = &placings{}

// patchTargets are the objects that patches may be of, by kind and name.
var patchTargets = map[string]string{"Deployment/coredns": "corednsdeployment", "DaemonSet/kube-proxy": "kubeproxydaemonset"}

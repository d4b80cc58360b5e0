package provenance

import (
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
)

// componentRows returns the rows of a static pod that a block of the cluster configures.
func componentRows(block string) []topology.Placing {
	return []topology.Placing{
		topology.Place(block+".arg.*", "args.*"),
		topology.Place(block+".extra_env.*.value", "env.*"),
		topology.Place(block+".extra_env.*.value_from", "env.*"),
		topology.Place(block+".extra_env.*", "env.*"),
		topology.Place(block+".extra_volume.*.host_path", "volumes.*.hostPath.path"),
		topology.Place(block+".extra_volume.*.path_type", "volumes.*.hostPath.type"),
		topology.Place(block+".extra_volume.*.mount_path", "mounts.*.mountPath"),
		topology.Place(block+".extra_volume.*.read_only", "mounts.*.readOnly"),
	}
}

// controlPlaneRows returns the rows of a control plane component, its own ones first.
func controlPlaneRows(block string, more ...topology.Placing) []topology.Placing {
	return slices.Concat(componentRows(block), more, []topology.Placing{
		topology.Place("proxy_env.*", "env.*"),
		topology.Place("timeouts.control_plane_component_health_check", "probes.startup.failureThreshold"),
		topology.Place("certificates.dir",
			"args.client-ca-file", "args.requestheader-client-ca-file", "args.root-ca-file",
			"args.cluster-signing-cert-file", "args.cluster-signing-key-file", "args.service-account-private-key-file",
			"volumes.k8s-certs.hostPath.path", "mounts.k8s-certs.mountPath"),
	})
}

// probesAt are the paths of the addresses of a static pod's probes.
var probesAt = []string{"probes.liveness.httpGet.host", "probes.readiness.httpGet.host", "probes.startup.httpGet.host"}

// advertised returns the rows of values that contain a node's address.
func advertised(values ...string) []topology.Placing {
	return []topology.Placing{topology.Place("advertise_addresses", values...), topology.Place("address", values...)}
}

// coreImage is the image of a static pod with the version of Kubernetes.
var coreImage = []topology.ImagePlacing{{
	Value: "image", At: "image", Repository: []string{"image_repository"}, Tag: []string{"kubernetes_version"},
}}

// podPlacings are the placings of the static pods.
var podPlacings = map[string]*topology.Placings{
	"kube-apiserver": {
		Cluster: controlPlaneRows("api_server",
			topology.Place("bind_port", "args.secure-port", "pod.spec.container.ports"),
			topology.Place("network.service_subnet", "args.service-cluster-ip-range"),
			topology.Place("network.dns_domain", "args.service-account-issuer"),
			topology.Place("certificates.kubelet_serving", "args.kubelet-certificate-authority"),
			topology.Place("etcd.external.endpoints", "args.etcd-servers"),
			topology.Place("etcd.external.ca_file", "args.etcd-cafile"),
			topology.Place("etcd.external.cert_file", "args.etcd-certfile"),
			topology.Place("etcd.external.key_file", "args.etcd-keyfile"),
			topology.Place("etcd.external", "volumes.etcd-certs-0", "volumes.etcd-certs-1", "volumes.etcd-certs-2", "mounts.etcd-certs-0", "mounts.etcd-certs-1", "mounts.etcd-certs-2"),
			topology.Place("etcd.arg.advertise-client-urls", "args.etcd-servers"),
			topology.Place("certificates.dir",
				"args.kubelet-client-certificate", "args.kubelet-client-key", "args.proxy-client-cert-file", "args.proxy-client-key-file",
				"args.service-account-key-file", "args.service-account-signing-key-file", "args.tls-cert-file", "args.tls-private-key-file",
				"args.etcd-cafile", "args.etcd-certfile", "args.etcd-keyfile")),
		Behind: advertised(append(slices.Clone(probesAt), "args.advertise-address",
			`annotations["kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint"]`)...),
		Images: coreImage,
	},
	"kube-controller-manager": {
		Cluster: controlPlaneRows("controller_manager",
			topology.Place("controller_manager.arg.bind-address", probesAt...),
			topology.Place("controller_manager.arg.flex-volume-plugin-dir", "volumes.flexvolume-dir.hostPath.path", "mounts.flexvolume-dir.mountPath"),
			topology.Place("cluster_name", "args.cluster-name"),
			topology.Place("network.pod_subnet", "args.cluster-cidr", "args.allocate-node-cidrs"),
			topology.Place("network.service_subnet", "args.service-cluster-ip-range")),
		Images: coreImage,
	},
	"kube-scheduler": {
		Cluster: controlPlaneRows("scheduler", topology.Place("scheduler.arg.bind-address", probesAt...)),
		Images:  coreImage,
	},
	"etcd": {
		Cluster: append(componentRows("etcd"),
			topology.Place("etcd.arg.listen-metrics-urls", append(slices.Clone(probesAt), "pod.spec.container.ports")...),
			topology.Place("etcd.data_dir", "args.data-dir", "volumes.etcd-data.hostPath.path", "mounts.etcd-data.mountPath"),
			topology.Place("timeouts.control_plane_component_health_check", "probes.startup.failureThreshold"),
			topology.Place("certificates.dir",
				"args.cert-file", "args.key-file", "args.trusted-ca-file", "args.peer-cert-file", "args.peer-key-file", "args.peer-trusted-ca-file",
				"volumes.etcd-certs.hostPath.path", "mounts.etcd-certs.mountPath")),
		Behind: append(advertised(
			"args.advertise-client-urls", "args.initial-advertise-peer-urls", "args.listen-client-urls", "args.listen-peer-urls",
			`annotations["kubeadm.kubernetes.io/etcd.advertise-client-urls"]`),
			topology.Place("name", "args.name")),
		Images: []topology.ImagePlacing{{
			Value: "image", At: "image", Repository: []string{"etcd.image_repository", "image_repository"}, Tag: []string{"etcd.image_tag", "kubernetes_version"},
		}},
	},
}

// kubeletRows returns the rows of a KubeletConfiguration whose fields are below a path.
func kubeletRows(at string) []topology.Placing {
	return []topology.Placing{
		topology.Place("kubelet.config.**", at+"**"),
		topology.Place("network.service_subnet", at+"clusterDNS"),
		topology.Place("network.dns_domain", at+"clusterDomain"),
		topology.Place("certificates.dir", at+"authentication.x509.clientCAFile"),
	}
}

// The placings of the kubelet's files.
var (
	InstancePlacings = &topology.Placings{Before: []topology.Placing{topology.Place("cri_socket", "containerRuntimeEndpoint")}}
	kubeletPlacings  = &topology.Placings{
		Before:  []topology.Placing{topology.Place("cri_socket", "containerRuntimeEndpoint"), topology.Place("kubelet.config.**", "**")},
		Cluster: append(kubeletRows(""), topology.Place("certificates.kubelet_serving", "tlsCertFile", "tlsPrivateKeyFile")),
	}
	KubeletFlagPlacings = &topology.Placings{
		Before: []topology.Placing{topology.Place("kubelet.arg.*", "args.*")},
		Cluster: []topology.Placing{
			topology.Place("kubelet.arg.*", "args.*"),
			topology.Place("image_repository", "args.pod-infra-container-image"),
		},
		Behind: []topology.Placing{
			topology.Place("taints", "args.register-with-taints"),
			topology.Place("taint.*", "args.register-with-taints"),
			topology.Place("cri_socket", "args.container-runtime-endpoint"),
			topology.Place("advertise_addresses", "args.node-ip"),
			topology.Place("name", "args.hostname-override"),
		},
	}
)

// storedRows returns the rows of kubeadm's ClusterConfiguration, as stored in the cluster.
func storedRows() []topology.Placing {
	const at = "data.ClusterConfiguration."
	rows := []topology.Placing{
		topology.Place("kubernetes_version", at+"kubernetesVersion"),
		topology.Place("control_plane_endpoint", at+"controlPlaneEndpoint"),
		topology.Place("cluster_name", at+"clusterName"),
		topology.Place("image_repository", at+"imageRepository"),
		topology.Place("feature_gates.*", at+"featureGates.*"),
		topology.Place("certificates.dir", at+"certificatesDir"),
		topology.Place("certificates.algorithm", at+"encryptionAlgorithm"),
		topology.Place("certificates.validity", at+"certificateValidityPeriod"),
		topology.Place("certificates.ca_validity", at+"caCertificateValidityPeriod"),
		topology.Place("network.service_subnet", at+"networking.serviceSubnet"),
		topology.Place("network.pod_subnet", at+"networking.podSubnet"),
		topology.Place("network.dns_domain", at+"networking.dnsDomain"),
		topology.Place("api_server.cert_sans", at+"apiServer.certSANs"),
		topology.Place("dns.image_repository", at+"dns.imageRepository"),
		topology.Place("dns.image_tag", at+"dns.imageTag"),
		topology.Place("dns.enabled", at+"dns.disabled"),
		topology.Place("kube_proxy.enabled", at+"proxy.disabled"),
		topology.Place("skip_phases", at+"dns.disabled", at+"proxy.disabled"),
		topology.Place("etcd.image_repository", at+"etcd.local.imageRepository"),
		topology.Place("etcd.image_tag", at+"etcd.local.imageTag"),
		topology.Place("etcd.data_dir", at+"etcd.local.dataDir"),
		topology.Place("etcd.server_cert_sans", at+"etcd.local.serverCertSANs"),
		topology.Place("etcd.peer_cert_sans", at+"etcd.local.peerCertSANs"),
		topology.Place("etcd.external.http_endpoints", at+"etcd.external.httpEndpoints"),
		topology.Place("etcd.external.endpoints", at+"etcd.external.endpoints", at+"etcd.external.httpEndpoints"),
		topology.Place("etcd.external.ca_file", at+"etcd.external.caFile"),
		topology.Place("etcd.external.cert_file", at+"etcd.external.certFile"),
		topology.Place("etcd.external.key_file", at+"etcd.external.keyFile"),
		topology.Place("certificates.kubelet_serving", at+"apiServer.extraArgs.kubelet-certificate-authority"),
	}
	for block, field := range map[string]string{
		"api_server": "apiServer.", "controller_manager": "controllerManager.", "scheduler": "scheduler.", "etcd": "etcd.local.",
	} {
		rows = append(rows,
			topology.Place(block+".arg.*", at+field+"extraArgs.*"),
			topology.Place(block+".extra_env.*.value", at+field+"extraEnvs.*"),
			topology.Place(block+".extra_env.*.value_from", at+field+"extraEnvs.*"),
			topology.Place(block+".extra_env.*", at+field+"extraEnvs.*"),
			topology.Place(block+".extra_volume.*.host_path", at+field+"extraVolumes.*.hostPath"),
			topology.Place(block+".extra_volume.*.mount_path", at+field+"extraVolumes.*.mountPath"),
			topology.Place(block+".extra_volume.*.read_only", at+field+"extraVolumes.*.readOnly"),
			topology.Place(block+".extra_volume.*.path_type", at+field+"extraVolumes.*.pathType"))
	}
	return rows
}

// hashNote is the annotation of a configuration that kubeadm generated. The user's configuration
// removes it.
const hashNote = `metadata.annotations["kubeadm.kubernetes.io/component-config.hash"]`

const podSpec = "spec.template.spec.containers."

// objectPlacings are the placings of kubeadm's objects, by kind and name; all other objects are
// kubeadm's defaults.
var objectPlacings = map[string]*topology.Placings{
	"ConfigMap/kubeadm-config": {Cluster: storedRows()},
	"ConfigMap/kubelet-config": {Cluster: append(kubeletRows("data.kubelet."), topology.Place("kubelet.config", hashNote))},
	"ConfigMap/kube-proxy": {
		Cluster: []topology.Placing{
			topology.Place("kube_proxy.config.**", `data["config.conf"].**`),
			topology.Place("kube_proxy.config", hashNote),
			topology.Place("network.pod_subnet", `data["config.conf"].clusterCIDR`),
			topology.Place("control_plane_endpoint", `data["kubeconfig.conf"].clusters`),
		},
		Behind: advertised(`data["kubeconfig.conf"].clusters`),
	},
	"ConfigMap/cluster-info": {
		Cluster: []topology.Placing{topology.Place("control_plane_endpoint", "data.kubeconfig.server"), topology.Place(GivenCertificate, planner.CASerial)},
		Behind:  advertised("data.kubeconfig.server"),
	},
	"ConfigMap/coredns": {Cluster: []topology.Placing{topology.Place("network.dns_domain", "data.Corefile")}},
	"Service/kube-dns":  {Cluster: []topology.Placing{topology.Place("network.service_subnet", "spec.clusterIP")}},
	"Deployment/coredns": {Images: []topology.ImagePlacing{{
		Value: podSpec + "0.image", At: podSpec + "coredns.image",
		Repository: []string{"dns.image_repository", "image_repository"}, Tag: []string{"dns.image_tag", "kubernetes_version"},
	}}},
	"DaemonSet/kube-proxy": {
		Cluster: []topology.Placing{topology.Place("proxy_env.*", podSpec+"kube-proxy.env.*")},
		Images: []topology.ImagePlacing{{
			Value: podSpec + "0.image", At: podSpec + "kube-proxy.image", Repository: []string{"image_repository"}, Tag: []string{"kubernetes_version"},
		}},
	},
	"Role/kubeadm:kubeadm-certs":        {Cluster: []topology.Placing{topology.Place("upload_certs", "")}},
	"RoleBinding/kubeadm:kubeadm-certs": {Cluster: []topology.Placing{topology.Place("upload_certs", "")}},
}

// kubeadmsOwn are the placings of objects without settings.
var kubeadmsOwn = &topology.Placings{}

// patchTargets are the targets of patches for objects, by kind and name.
var patchTargets = map[string]string{"Deployment/coredns": "corednsdeployment", "DaemonSet/kube-proxy": "kubeproxydaemonset"}

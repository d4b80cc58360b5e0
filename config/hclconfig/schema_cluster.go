package hclconfig

import "github.com/kubewright/kubewright/config"

var clusterBlock = &Block{
	Name: "cluster", Label: "NAME", Doc: "A cluster: kubeadm's ClusterConfiguration and what all its nodes share.",
	Attributes: []Attribute{
		{Name: "kubernetes_version", Type: typeString, Plain: withoutV, Required: true, NonEmpty: true, Cost: CostRestart, Doc: "Version of Kubernetes, as in `1.36.3`. Changing it upgrades the cluster, over every minor version on the way."},
		{Name: "control_plane_endpoint", Type: typeString, Cost: CostRestart, Doc: "HOST:PORT of a balancer, or of a name that you can move, in front of the API servers. The port is `bind_port` when left out. Needed with more than one control plane. Changing it renews certificates and kubeconfigs."},
		{Name: "cluster_name", Type: typeString, Default: config.DefaultClusterName, Cost: CostImmutable, Doc: "Name of the cluster in kubeconfigs."},
		{Name: "bind_port", Type: typeNumber, Default: config.DefaultBindPort, Cost: CostImmutable, Doc: "Port on which API servers listen."},
		{Name: "image_repository", Type: typeString, Plain: withoutSlash, Default: config.DefaultImageRepository, Cost: CostRestart, Doc: "Registry, with an optional path, of the images of Kubernetes."},
		{Name: "feature_gates", Type: typeBoolMap, Cost: CostRestart, Doc: "kubeadm's own feature gates. Those of components are arguments: `arg \"feature-gates\"`."},
		{Name: "upload_certs", Type: typeBool, Default: false, Cost: CostObject, Doc: "Keep the certificates in the Secret kubeadm-certs for two hours, for a `kubeadm join --control-plane` by hand."},
		{Name: "certificate_key", Type: typeString, Sensitive: true, Derived: "generated, and shown once after the apply", Cost: CostObject, Doc: "The key that encrypts what `upload_certs` uploads: 64 hex digits, as `kubeadm certs certificate-key` prints them."},
		{Name: "proxy_env", Type: typeStringMap, Cost: CostRestart, Doc: "HTTP_PROXY, HTTPS_PROXY and NO_PROXY (or in lower case) for the control plane components and kube-proxy."},
		{Name: "ignore_preflight_errors", Type: typeStrings, Cost: CostNone, Doc: "Preflight checks whose errors are only warnings, by kubeadm's names, or `all`. A host that holds another cluster's files (`FileAvailable-`) is refused all the same."},
		{Name: "skip_phases", Type: typeStrings, Cost: CostNone, Doc: "Phases that plans leave out: `preflight`, `images`, `mark-control-plane`, `mark-worker`, and `addon` (CoreDNS and kube-proxy) or `addon/coredns`, `addon/kube-proxy`. What they made before stays. Others are needed, and refused with what to write instead."},
		kernelModules("that every node is to have"), sysctls("of every node"),
		{Name: "image_pull_policy", Type: typeString, Default: config.DefaultImagePullPolicy, Cost: CostNone, Doc: "When images are pulled: `Always`, `IfNotPresent` or `Never`. `Always` pulls what is there too, before a node joins or is upgraded."},
		{Name: "server", Type: typeString, Computed: true, Derived: "computed", Cost: CostNone, Doc: "The URL of the API, as in the administrator's kubeconfig: of `control_plane_endpoint`, or of the first control plane without one. It can be referred to in outputs alone."},
		{Name: "ca_certificate", Type: typeString, Computed: true, Derived: "known after the first apply", Cost: CostNone, Doc: "The certificate of the cluster's CA as PEM, for clients that have to trust it; during a rotation of the CA all that are to be trusted. It can be referred to in outputs alone."},
		{Name: "image_pull_serial", Type: typeBool, Default: true, Cost: CostNone, Doc: "Pull the images of a node one after the other, instead of all at once."},
		{Name: "on_unreachable", Type: typeString, Default: config.DefaultOnUnreachable, Cost: CostNone, Doc: "What a plan does while hosts of the cluster do not answer. `refuse`: it is shown, and applied only with `-allow-unreachable`. `withhold`: it is applied without what waits for these hosts, and the exit code is 9; for scheduled runs. A control plane may be missing only while etcd holds quorum and lists its member."},
	},
	Blocks: []*Block{
		networkBlock, apiServerBlock,
		componentBlock("controller_manager", "kube-controller-manager"), componentBlock("scheduler", "kube-scheduler"),
		etcdBlock, dnsBlock, kubeProxyBlock, kubeletBlock("All kubelets of the cluster."), certificatesBlock, upgradeBlock, installBlock,
		timeoutsBlock, bootstrapTokenBlock, resetBlock, unitBlock("on nodes", false), patchBlock("All nodes of the cluster."), fileBlock(false), directoryBlock(false), auditBlock, admissionBlock, authenticationBlock, atRestBlock, hardeningBlock, backupBlock, addonBlock, clusterLifecycle,
	},
}

var networkBlock = &Block{
	Name: "network", Doc: "Addresses inside the cluster.",
	Attributes: []Attribute{
		{Name: "pod_subnet", Type: typeString, Cost: CostImmutable, Doc: "CIDR of the pods, or two of different families separated by a comma. Empty leaves pod addresses to the network plugin."},
		{Name: "service_subnet", Type: typeString, Default: config.DefaultServiceSubnet, Cost: CostImmutable, Doc: "CIDR of the services, or two of different families separated by a comma."},
		{Name: "dns_domain", Type: typeString, Default: config.DefaultDNSDomain, Cost: CostImmutable, Doc: "Domain of the cluster's names."},
	},
}

var apiServerBlock = &Block{
	Name: "api_server", Doc: "kube-apiserver.",
	Attributes: []Attribute{
		{Name: "cert_sans", Type: typeStrings, Cost: CostRestart, Doc: "More names and addresses for the serving certificate."},
	},
	Blocks: []*Block{argBlock, volumeBlock, envBlock},
}

func componentBlock(name, doc string) *Block {
	return &Block{Name: name, Doc: doc + ".", Blocks: []*Block{argBlock, volumeBlock, envBlock}}
}

var argBlock = &Block{
	Name: "arg", Label: "NAME", Repeat: true,
	Doc: "A command line argument, by its name without dashes. Order and repetition are kept; an argument that kubeadm sets itself is replaced. Name and value are checked as the component of that version reads them.",
	Attributes: []Attribute{
		{Name: "value", Type: typeString, Required: true, Cost: CostRestart, Doc: "The value."},
	},
}

var volumeBlock = &Block{
	Name: "extra_volume", Label: "NAME", Doc: "A path of the host that the component sees.",
	Attributes: []Attribute{
		{Name: "host_path", Type: typeString, Required: true, NonEmpty: true, Cost: CostRestart, Doc: "Path on the host."},
		{Name: "mount_path", Type: typeString, Required: true, NonEmpty: true, Cost: CostRestart, Doc: "Path in the container."},
		{Name: "read_only", Type: typeBool, Default: false, Cost: CostRestart, Doc: "Mount it read-only."},
		{Name: "path_type", Type: typeString, Cost: CostRestart, Doc: "`DirectoryOrCreate`, `Directory`, `FileOrCreate`, `File`, `Socket`, `CharDevice` or `BlockDevice`; unset checks nothing."},
	},
}

var envBlock = &Block{
	Name: "extra_env", Label: "NAME", Doc: "An environment variable of the component.",
	Attributes: []Attribute{
		{Name: "value", Type: typeString, Cost: CostRestart, Doc: "The value."},
		{Name: "value_from", Type: typeTree, Cost: CostRestart, Doc: "Where the value comes from instead: an EnvVarSource of core/v1, as in `{ fieldRef = { fieldPath = \"status.hostIP\" } }`."},
	},
}

var etcdBlock = &Block{
	Name: "etcd", Doc: "etcd, on the control planes unless `external` is given.",
	Attributes: []Attribute{
		{Name: "image_repository", Type: typeString, Plain: withoutSlash, Derived: "the cluster's", Cost: CostRestart, Doc: "Registry of etcd's image."},
		{Name: "image_tag", Type: typeString, Derived: "by version of Kubernetes", Cost: CostRestart, Doc: "Tag of etcd's image. With it the version of etcd is yours to manage."},
		{Name: "data_dir", Type: typeString, Plain: withoutSlash, Default: config.DefaultEtcdDataDir, Cost: CostImmutable, Doc: "Folder of the data on the hosts."},
		{Name: "server_cert_sans", Type: typeStrings, Cost: CostRestart, Doc: "More names and addresses for the serving certificate."},
		{Name: "peer_cert_sans", Type: typeStrings, Cost: CostRestart, Doc: "More names and addresses for the peer certificate."},
	},
	Blocks: []*Block{argBlock, envBlock, externalEtcdBlock},
}

var externalEtcdBlock = &Block{
	Name: "external", Doc: "An etcd that is used and never changed.",
	Attributes: []Attribute{
		{Name: "endpoints", Type: typeStrings, Required: true, Cost: CostRestart, Doc: "URLs of its members."},
		{Name: "http_endpoints", Type: typeStrings, Derived: "`endpoints`", Cost: CostNone, Since: "Kubernetes 1.35", Doc: "URLs for health and version."},
		{Name: "ca_file", Type: typeString, Cost: CostRestart, Doc: "CA certificate, a path on the control planes."},
		{Name: "cert_file", Type: typeString, Cost: CostRestart, Doc: "Client certificate, a path on the control planes."},
		{Name: "key_file", Type: typeString, Cost: CostRestart, Doc: "Key of the client certificate, a path on the control planes."},
		{Name: "ca", Type: typeString, Cost: CostRestart, Doc: "Content of `ca_file`, to be brought there: `file(\"etcd/ca.crt\")`. Without it the file is there already."},
		{Name: "cert", Type: typeString, Cost: CostRestart, Doc: "Content of `cert_file`, to be brought there."},
		{Name: "key", Type: typeString, Sensitive: true, Cost: CostRestart, Doc: "Content of `key_file`, to be brought there."},
	},
}

var dnsBlock = &Block{
	Name: "dns", Doc: "The addon CoreDNS. Its Corefile and its number of replicas are written once; what you make of them in the cluster stays.",
	Attributes: []Attribute{
		{Name: "enabled", Type: typeBool, Default: true, Cost: CostObject, Doc: "Whether there is one."},
		{Name: "image_repository", Type: typeString, Plain: withoutSlash, Derived: "the cluster's", Cost: CostObject, Doc: "Registry of its image."},
		{Name: "image_tag", Type: typeString, Derived: "by version of Kubernetes", Cost: CostObject, Doc: "Tag of its image."},
	},
}

var kubeProxyBlock = &Block{
	Name: "kube_proxy", Doc: "The addon kube-proxy.",
	Attributes: []Attribute{
		{Name: "enabled", Type: typeBool, Default: true, Cost: CostObject, Doc: "Whether there is one."},
		{Name: "config", Type: typeTree, Cost: CostObject, Doc: "A KubeProxyConfiguration (kubeproxy.config.k8s.io/v1alpha1), by its own names, as in `{ mode = \"nftables\" }`."},
	},
}

func kubeletBlock(doc string) *Block {
	return &Block{
		Name: "kubelet", Doc: doc,
		Attributes: []Attribute{
			{Name: "config", Type: typeTree, Cost: CostRestart, Doc: "A KubeletConfiguration (kubelet.config.k8s.io/v1beta1), by its own names, as in `{ maxPods = 200 }`."},
		},
		Blocks: []*Block{argBlock},
	}
}

var certificatesBlock = &Block{
	Name: "certificates", Doc: "How keys and certificates are made.",
	Attributes: []Attribute{
		{Name: "dir", Type: typeString, Plain: withoutSlash, Default: config.DefaultCertificatesDir, Cost: CostImmutable, Doc: "Folder of the certificates on the hosts."},
		{Name: "algorithm", Type: typeString, Default: config.DefaultAlgorithm, Cost: CostNone, Doc: "Algorithm of new keys: `RSA-2048`, `RSA-3072`, `RSA-4096`, `ECDSA-P256` or `ECDSA-P384`."},
		{Name: "validity", Type: typeDuration, Default: "8760h", Cost: CostNone, Doc: "How long a new certificate is valid."},
		{Name: "ca_validity", Type: typeDuration, Default: "87600h", Cost: CostNone, Doc: "How long a new CA certificate is valid."},
		{Name: "renew_before", Type: typeDuration, Derived: "`720h`, or a third of `validity` when that is less", Cost: CostNone, Doc: "How long before it expires a certificate is due for renewal."},
		{Name: "kubelet_serving", Type: typeBool, Default: false, Cost: CostRestart, Doc: "Kubelets serve with certificates that the cluster's CA has signed, in `DIR/kubelet-server.crt`, and API servers verify them (`--kubelet-certificate-authority`) as soon as every node has one. By default kubelets sign their own, which no API server verifies."},
		{Name: "supplied", Type: typeString, Cost: CostRestart, Doc: "Folder below the configuration with certificates and kubeconfigs per node, for a CA without key: `NODE/pki/apiserver.crt`, `NODE/admin.conf` and so on; see [docs/reference/supplied-files.md](supplied-files.md)."},
	},
	Blocks: []*Block{
		givenCABlock("ca", "The cluster's CA, when it is managed outside kubewright."),
		givenCABlock("front_proxy_ca", "The CA of the front proxy, when it is managed outside kubewright."),
		givenCABlock("etcd_ca", "The CA of etcd, when it is managed outside kubewright."),
	},
}

func givenCABlock(name, doc string) *Block {
	return &Block{
		Name: name, Doc: doc,
		Attributes: []Attribute{
			{Name: "certificate", Type: typeString, Required: true, NonEmpty: true, Cost: CostImmutable, Doc: "The certificate as PEM: `file(\"ca.crt\")`."},
			{Name: "key", Type: typeString, Sensitive: true, Cost: CostNone, Doc: "Its key as PEM: `file(\"ca.key\")` or a sensitive variable. Without it nothing can be signed, and `supplied` is needed."},
			{Name: "on_hosts", Type: typeBool, Default: false, Cost: CostImmutable, Doc: "Copy the key to the control planes, as kubeadm has it. Otherwise it stays with you: kubewright signs everything, the kubelets' certificates too, which then do not renew themselves but are renewed by `apply`."},
		},
	}
}

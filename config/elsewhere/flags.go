package elsewhere

const autoApprove = "-auto-approve proceeds without a question, and -approve=DIGEST with exactly that plan."

var flags = []entry{
	// Terraform.
	{"refresh", "Every plan observes the hosts. -refresh-only has the state learn what is there, and changes nothing.", Code{}},
	{"upgrade", "There are no plugins or modules to upgrade. Kubernetes is upgraded by kubernetes_version in the cluster block.", Code{}},
	{"get plugin-dir from-module", "There are no plugins and no modules. kubewright init -example=NAME writes a configuration to begin with.", Code{}},
	{"backend", "Where the state is kept, a backend block of the kubewright block says.", Code{}},
	{"lock", "The state is always locked. -lock-timeout=5m waits for another command to end.", Code{}},
	{"backup state-out", "Older states are kept beside the state. kubewright state pull prints a copy.", Code{}},
	{"generate-config", "-generate-config-out=FILE of kubewright plan writes the configuration of import blocks.", Code{}},
	{"dry-run check diff noop whatif", "kubewright plan shows what an apply would do, and changes nothing.", Code{}},
	{"y yes assumeyes non-interactive no-confirm", autoApprove, Code{}},
	{"f file filename config recursive", "The configuration is all *.hcl files of the folder: change to it, or name it with -chdir=FOLDER. Values are read with -var-file=FILE.", Code{}},
	{"o output", "kubewright show -format=FORMAT prints a plan as markdown, html, junit, github or json, and -json of other commands prints JSON.", Code{}},
	{"force", "Nothing is forced: a refusal says what to do. A lock that is left over is released with kubewright force-unlock.", Code{}},
	{"verbose v debug log-level", "KUBEWRIGHT_LOG=debug writes a log to stderr, or with KUBEWRIGHT_LOG_PATH to a file; -full shows all of a plan.", Code{}},
	{"quiet q", "-json prints lines for programs, and a pipe gets no live view.", Code{}},
	{"limit tags", "-target=ADDRESS plans one node or phase, and -exclude=ADDRESS leaves it out.", Code{}},
	{"i inventory", "Hosts are node blocks. An inventory is read with for_each = yamldecode(file(\"workers.yaml\")), as in examples/many-workers.", Code{}},
	{"u user private-key become ask-become-pass ssh-key", "How hosts are reached, a connection block says: user, private_key, sudo_password.", Code{}},
	{"e extra-vars set values", "-var NAME=VALUE sets a variable, and -var-file=FILE reads several.", Code{}},
	// kubeadm.
	{"pod-network-cidr cluster-cidr", "", podSubnet},
	{"service-cidr", "", serviceSubnet},
	{"service-dns-domain", "", Code{"cluster", `network { dns_domain = "cluster.local" }`}},
	{"control-plane-endpoint", "", Code{"cluster", `control_plane_endpoint = "api.example.com:6443"`}},
	{"apiserver-advertise-address", "Write advertise_addresses in the node block; without it address is advertised.", Code{}},
	{"apiserver-bind-port", "Write bind_port in the cluster block.", Code{}},
	{"apiserver-cert-extra-sans", "", Code{"cluster", `api_server { cert_sans = ["api.example.com"] }`}},
	{"kubernetes-version", "", version},
	{"image-repository", "Write image_repository in the cluster block.", Code{}},
	{"cri-socket", "Write cri_socket in the node block; with one runtime on the host it is found.", Code{}},
	{"node-name", "Write name in the node block.", Code{}},
	{"feature-gates", "Write feature_gates in the cluster block for kubeadm's, and arg \"feature-gates\" for a component's.", Code{}},
	{"patches", "Write patch blocks in the cluster or node block.", Code{}},
	{"cert-dir", "Certificates are in /etc/kubernetes/pki on the hosts. CAs of yours are certificates { ca { … } } in the cluster block.", Code{}},
	{"upload-certs", "Write upload_certs = true in the cluster block. Control planes of the configuration join without it.", Code{}},
	{"certificate-key", "Write certificate_key in the cluster block. Control planes of the configuration join without it.", Code{}},
	{"control-plane", "", Code{"node", `role = "control-plane"`}},
	{
		"token discovery-token discovery-token-ca-cert-hash discovery-token-unsafe-skip-ca-verification tls-bootstrap-token discovery-file token-ttl skip-token-print",
		"Nodes join without a token of yours: write a node block. A token for others is a bootstrap_token block in the cluster block.",
		Code{},
	},
	{"ignore-preflight-errors", "Write ignore_preflight_errors in the cluster or node block, where a reviewer sees it.", Code{}},
	{"skip-phases", "-skip-phase=PHASE leaves out one phase, and skip_phases in the cluster or node block for good.", Code{}},
	// kubectl.
	{"kubeconfig context namespace n w watch", "kubewright reaches the API through SSH and the state, and needs no kubeconfig. kubewright kubeconfig -merge gives kubectl one.", Code{}},
	{"ignore-daemonsets delete-emptydir-data disable-eviction grace-period", "How nodes are drained, a drain block of upgrade or reset says.", Code{}},
	{"cluster", "The configuration's folder says which cluster, and -target=cluster.NAME one of several.", Code{}},
}

package elsewhere

// Sentences and lines that several names share.
const (
	oneFolder = "A folder is one configuration: write several clusters into it, or use several folders."
	noMachine = "kubewright creates no machines, networks or load balancers: other tools do, and it begins where SSH answers. Write cluster and node blocks."
	noVIP     = "kubewright brings no load balancer and no virtual address: control_plane_endpoint of the cluster block names one that you run, or a name in DNS that you can move."
	noHooks   = "kubewright runs no commands of yours, on hosts or here. Prepare hosts with another tool before the apply; a check block tests what must hold."
)

var (
	podSubnet     = Code{"cluster", `network { pod_subnet = "10.244.0.0/16" }`}
	serviceSubnet = Code{"cluster", `network { service_subnet = "10.96.0.0/12" }`}
	appAddon      = Code{"cluster", `addon "app" { manifest = file("app.yaml") }`}
	version       = Code{"cluster", `kubernetes_version = "1.36.3"`}
	byPackages    = Code{"cluster", "install {\n    packages { key = file(\"kubernetes.asc\") }\n  }"}
)

var language = []entry{
	// Terraform.
	{"count", "Use for_each with a map or a set of strings: its keys stay the same when the number changes.", Code{}},
	{"module", oneFolder, Code{}},
	{"resource", noMachine, Code{}},
	{"data", "Write cluster and node blocks, and variables for what comes from outside: a -var-file, or KUBEWRIGHT_VAR_NAME.", Code{}},
	{"provider required_providers", "There are no plugins: hosts are reached as connection blocks say.", Code{}},
	{"terraform", "Write a kubewright block.", Code{}},
	{"cloud workspaces", "The state is kept in a file, or where a backend block of the kubewright block says.", Code{}},
	{"depends_on", "The order follows from what nodes and clusters are.", Code{}},
	{"triggers replace_triggered_by", "Use -replace=ADDRESS to create a node again.", Code{}},
	{"create_before_destroy", "A node is one host: it leaves before it joins again.", Code{}},
	{"postcondition", "Use a check block.", Code{}},
	{"provisioner hooks hook pre_apply post_apply script scripts commands user_data cloud_init", noHooks, Code{}},
	{"ephemeral", "A variable with sensitive = true is stored nowhere.", Code{}},
	// Networks, load balancers, charts.
	{
		"cni cni_plugin network_plugin kube_network_plugin calico cilium flannel", "The network plugin is a manifest of yours.",
		Code{"cluster", `addon "cni" { manifest = file("flannel.yaml") }`},
	},
	{"pod_cidr pod_network_cidr pods_cidr cluster_cidr pod_network kube_pods_subnet", "", podSubnet},
	{"service_cidr services_cidr service_cluster_ip_range kube_service_addresses", "", serviceSubnet},
	{"kube_vip keepalived haproxy load_balancer loadbalancer vip virtual_ip metallb", noVIP, Code{}},
	{"helm_release helm helm_chart chart charts", "There is no Helm here. Run it after the apply, or render the chart (helm template … > app.yaml) and have the result applied.", appAddon},
	{"addons manifests kubernetes_manifest kubectl_manifest static_pods", "Each manifest is an addon block.", appAddon},
	{"ingress storage_class metrics_server dashboard", "Nothing is installed beyond what kubeadm installs. Its manifest is an addon of yours.", appAddon},
	// Nodes and their software.
	{
		"node_pool node_pools node_group machine machines masters workers control_planes static_workers etcd_nodes kube_control_plane kube_node",
		`Machines are node blocks with role = "control-plane" or "worker", one each, or one with for_each for several.`,
		Code{},
	},
	{"replicas", "There is one node for each host. Use for_each of a node block, with a map of names and addresses.", Code{}},
	{"version versions k8s_version kube_version kubernetes", "", version},
	{
		"container_runtime container_manager containerd cri crio docker",
		"A runtime that is there is found; cri_socket in a node block chooses of several. Where there is none, kubewright installs containerd.", byPackages,
	},
	{"apt yum dnf", "kubewright installs the kubelet and its runtime only. Other packages belong to the set-up of the machine.", byPackages},
	{"upgrade_strategy rolling_update strategy", "Changing kubernetes_version upgrades the cluster.", Code{"cluster", `upgrade { max_unavailable = "25%" }`}},
	{"etcd_backup etcd_snapshot", "The backup block of a cluster has its control planes take backups. kubewright etcd snapshot saves a copy of etcd, and a plan that risks its quorum saves one first.", Code{}},
	// SSH.
	{
		"ssh ssh_user ssh_port ssh_key ssh_key_path ssh_private_key ssh_private_key_file ansible_host ansible_user ansible_ssh_private_key_file",
		"How hosts are reached, connection blocks say.",
		Code{"", "connection {\n    user        = \"ubuntu\"\n    private_key = \"~/.ssh/id_ed25519\"\n  }"},
	},
	// kubeadm.
	{"args extra_args arguments flags", `Arguments of a component are blocks: arg "NAME" { value = "VALUE" }.`, Code{}},
	{
		"cluster_configuration init_configuration join_configuration kubeadm_config kubeadm",
		"kubewright writes kubeadm's configuration itself: its fields are arguments and blocks of cluster and node. kubewright import ssh://HOST writes them for a cluster that kubeadm made.",
		Code{},
	},
	{"kubelet_configuration", "The fields of KubeletConfiguration are in kubelet { config }, for all nodes or one.", Code{"cluster", "kubelet {\n    config = { maxPods = 200 }\n  }"}},
	{"kube_proxy_configuration", "The fields of KubeProxyConfiguration are in kube_proxy { config }.", Code{"cluster", "kube_proxy {\n    config = { mode = \"nftables\" }\n  }"}},
	{"local_api_endpoint advertise_address", "The address is advertise_addresses in the node block, and the port bind_port in the cluster block.", Code{}},
	{"node_registration", "Its fields are arguments of the node block: name, taints, cri_socket.", Code{}},
}

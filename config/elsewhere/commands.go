package elsewhere

// Sentences that several commands share.
const (
	useKubectl = "That is kubectl's: kubewright kubeconfig -merge gives it access, and kubectl goes on from there."
	editApply  = "The configuration says what there is: change it, then kubewright plan and kubewright apply."
	useDestroy = "kubewright destroy gives all hosts back as they were. To remove one node, take its block or key out of the configuration, then plan and apply."
	useJoin    = "A node joins when it is in the configuration: write a node block for it, then kubewright plan and kubewright apply."
)

var commands = []entry{
	// Terraform.
	{"get", "There are no modules to get: a folder is one configuration. For kubectl get, kubewright kubeconfig -merge gives kubectl access.", Code{}},
	{"modules", "There are no modules: a folder is one configuration.", Code{}},
	{"providers", "There are no plugins: hosts are reached as connection blocks say.", Code{}},
	{"refresh", "Every plan observes what is there. kubewright apply -refresh-only records it in the state.", Code{}},
	{"taint untaint", "Nodes are not marked beforehand: kubewright apply -replace=ADDRESS creates one again. For kubectl taint, write taint blocks in the node block.", Code{}},
	{"workspace", "Another state is another folder, or another file with -state=FILE.", Code{}},
	{"login logout cloud", "Credentials of a backend come from its own environment variables; there is no service to log in to.", Code{}},
	{"metadata", "kubewright schema -json prints the language.", Code{}},
	// kubeadm and other installers.
	{"upgrade update", "Change kubernetes_version in the cluster block: kubewright plan shows the upgrade, over every minor version on the way, and kubewright apply does it.", Code{}},
	{"join add", useJoin, Code{}},
	{"reset delete remove uninstall down teardown", useDestroy, Code{}},
	{"create up deploy install bootstrap run reconcile sync", "kubewright plan shows what would be done, and kubewright apply does it.", Code{}},
	{"scale", "Add or remove node blocks, or keys of their for_each, then kubewright plan and kubewright apply.", Code{}},
	{"health", "kubewright status shows whether hosts, API and etcd work and are as configured; kubewright doctor says what does not run and why, kubewright etcd status shows its members, kubewright certificates what expires. kubectl get nodes shows what Kubernetes reports.", Code{}},
	{"diff drift", "kubewright plan -refresh-only shows what was changed outside of kubewright, and kubewright plan what an apply would change.", Code{}},
	{"rollback undo", "Plan the previous configuration: git revert, then kubewright plan. A downgrade of Kubernetes is refused, and kubewright etcd restore brings back a snapshot of etcd.", Code{}},
	{"preflight check lint", "kubewright validate checks the configuration, and kubewright plan all hosts before it proposes anything.", Code{}},
	{"cert certs certificate renew rotate", "kubewright certificates shows what expires. An apply renews before that, and kubewright apply -replace=cluster.NAME/ca rotates a CA.", Code{}},
	{"token", "Nodes join without a token of yours. A token for others is a bootstrap_token block in the cluster block.", Code{}},
	{"config", "The configuration is the *.hcl files of a folder: kubewright validate checks it, kubewright console evaluates it, and kubewright schema prints the language.", Code{}},
	{"kubeadm", "kubewright does itself what kubeadm does by hand: describe the cluster, then kubewright plan and kubewright apply. kubewright import ssh://HOST takes over a cluster that kubeadm made.", Code{}},
	{"backup snapshot", "kubewright etcd snapshot saves a copy of etcd, and kubewright state pull one of the state.", Code{}},
	{"restore", "kubewright etcd restore brings back a snapshot of etcd, and kubewright state push or state recover a state.", Code{}},
	{"addon addons helm", "Each manifest is an addon block.", appAddon},
	{"edit set", editApply, Code{}},
	{"ssh", "ssh itself does: hosts are those of the node blocks, kubewright state list names them.", Code{}},
	{"list ls", "kubewright state list prints what is managed, and kubewright show the whole state.", Code{}},
	{"new example examples starter template", "kubewright init -example=NAME writes a configuration to begin with; kubewright init -help lists them.", Code{}},
	// kubectl.
	{"label annotate", "Labels, annotations and taints of a node are in its block. " + useKubectl, Code{}},
	{"kubectl describe logs exec node nodes pod pods cluster-info version-skew top", useKubectl, Code{}},
}

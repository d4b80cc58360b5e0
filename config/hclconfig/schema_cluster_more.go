package hclconfig

import "github.com/kubewright/kubewright/config"

var upgradeBlock = &Block{
	Name: "upgrade", Doc: "How nodes take turns when their kubelets or container runtimes restart: for another version, a setting, a certificate, other software. Control planes come first, one at a time.",
	Attributes: []Attribute{
		{Name: "max_unavailable", Type: typeString, Default: config.DefaultMaxUnavailable, Cost: CostNone, Doc: "Workers that may be down at once: a number, or a percentage as in `\"10%\"`, of which the whole workers count and one at least."},
		{Name: "canary", Type: typeNumber, Default: config.DefaultCanary, Cost: CostNone, Doc: "Workers that go first. The others follow when these are Ready again, and after the pause. `0` is none."},
		{Name: "pause", Type: typeDuration, Default: "0s", Cost: CostNone, Doc: "Time between batches of workers, and after the canaries. All nodes of a batch have to be Ready at its end. With `0s` the next worker goes as soon as one is back."},
		{Name: "allow_downtime", Type: typeBool, Default: false, Cost: CostNone, Doc: "With two control planes and stacked etcd: accept that the API does not answer for some seconds whenever one of them restarts, in an upgrade or for another change. etcd needs both."},
	},
	Blocks: []*Block{poolBlock, {
		Name: "drain", Doc: "How a node is emptied, as with kubectl drain.",
		Attributes: []Attribute{
			{Name: "timeout", Type: typeDuration, Default: "10m", Cost: CostNone, Doc: "When to give up; `0s` never does."},
			{Name: "grace_period", Type: typeNumber, Default: -1, Cost: CostNone, Doc: "Seconds given to a pod; -1 is the pod's own."},
			{Name: "force", Type: typeBool, Default: false, Cost: CostNone, Doc: "Also delete pods that no controller brings back."},
			{Name: "delete_emptydir_data", Type: typeBool, Default: false, Cost: CostNone, Doc: "Also delete pods with emptyDir volumes, whose data is lost."},
			{Name: "disable_eviction", Type: typeBool, Default: false, Cost: CostNone, Doc: "Delete instead of evict, past any PodDisruptionBudget."},
			{Name: "pod_selector", Type: typeString, Cost: CostNone, Doc: "Label selector of the pods concerned."},
			{Name: "skip_wait_for_delete_timeout", Type: typeDuration, Default: "0s", Cost: CostNone, Doc: "Do not wait for pods that terminate still when the time by which they were to be gone is over for longer than this; `0s` waits for all."},
			{Name: "stay_cordoned", Type: typeBool, Default: true, Cost: CostNone, Doc: "Whether a node whose drain did not succeed stays unschedulable; `false` lets pods in again."},
		},
	}},
}

var poolBlock = &Block{
	Name: "pool", Label: "NAME",
	Doc: "Workers with a pace of their own. Pools take their turns in the order in which they are written; a worker is in the first that selects it. Those that none selects come last.",
	Attributes: []Attribute{
		{Name: "selector", Type: typeString, Required: true, NonEmpty: true, Cost: CostNone, Doc: "Label selector of nodes, as in `node.example.com/pool=batch`: of the labels in the configuration, and those that the Node has besides."},
		{Name: "max_unavailable", Type: typeString, Derived: "that of `upgrade`", Cost: CostNone, Doc: "Workers of the pool that may be down at once: a number, or a percentage of the pool."},
		{Name: "canary", Type: typeNumber, Derived: "that of `upgrade`", Cost: CostNone, Doc: "Workers of the pool that go first."},
		{Name: "pause", Type: typeDuration, Derived: "that of `upgrade`", Cost: CostNone, Doc: "Time between batches of the pool, after its canaries and after its last batch."},
	},
}

var installBlock = &Block{
	Name: "install", Doc: "Where the software of the hosts comes from. Without `artifacts` and `packages` it is found preinstalled. docs/reference/artifacts.md describes a folder of artifacts, docs/how-to/install-from-packages.md what packages do.",
	Attributes: []Attribute{
		{Name: "artifacts", Type: typeString, Cost: CostRestart, Doc: "Folder with `SHA256SUMS` and releases under their own names (`kubelet`, `containerd-VERSION-linux-ARCH.tar.gz`, `runc.ARCH`, `cni-plugins-linux-ARCH-vVERSION.tgz`, `images/*.tar`), relative to the configuration."},
		{Name: "keep", Type: typeStrings, Cost: CostNone, Doc: "What stays of it when a node is reset: `runtime`, `kubelet`, `cni`, `images`."},
	},
	Blocks: []*Block{packagesBlock},
}

var packagesBlock = &Block{
	Name: "packages", Doc: "Packages of the hosts' own package manager, apt or dnf, instead of artifacts: the kubelet of `kubernetes_version` and what goes with it.",
	Attributes: []Attribute{
		{Name: "key", Type: typeString, Required: true, NonEmpty: true, Cost: CostNone, Doc: "The public key that signs the repository, ASCII-armored, as in `file(\"kubernetes.asc\")`."},
		{Name: "repository", Type: typeString, Default: config.DefaultRepository, Cost: CostNone, Doc: "The package repository up to its minor versions; `/v1.36/deb/` or `/v1.36/rpm/` is put behind it. Any mirror that keeps these folders will do, also one with a private address; loopback, link-local and multicast addresses and metadata services are refused. Hosts follow redirects on the same host only, and from pkgs.k8s.io to *.packages.k8s.io."},
		{Name: "runtime", Type: typeString, Default: config.DefaultRuntimePackage, Cost: CostRestart, Doc: "The package of containerd, from a repository that the hosts have; `\"\"` where a runtime is preinstalled."},
		{Name: "tools", Type: typeStrings, Default: config.DefaultPackageTools(), Cost: CostNone, Doc: "What is installed beside the kubelet: `kubeadm`, `kubectl`, both or none."},
		{Name: "hold", Type: typeBool, Default: true, Cost: CostNone, Doc: "Keep upgrades of the hosts from moving the packages."},
	},
}

var timeoutsBlock = &Block{
	Name: "timeouts", Doc: "kubeadm's timeouts.",
	Attributes: []Attribute{
		{Name: "control_plane_component_health_check", Type: typeDuration, Default: "4m", Cost: CostNone, Doc: "Until a control plane component is healthy."},
		{Name: "kubelet_health_check", Type: typeDuration, Default: "4m", Cost: CostNone, Doc: "Until the kubelet is healthy."},
		{Name: "kubernetes_api_call", Type: typeDuration, Default: "1m", Cost: CostNone, Doc: "For a call of the API, with repetitions."},
		{Name: "etcd_api_call", Type: typeDuration, Default: "2m", Cost: CostNone, Doc: "For a call of etcd, with repetitions."},
		{Name: "tls_bootstrap", Type: typeDuration, Default: "5m", Cost: CostNone, Doc: "Until a joining kubelet has its certificate."},
		{Name: "discovery", Type: typeDuration, Default: "5m", Cost: CostNone, Doc: "Until a joining node has found the cluster. Its kubelet asks for its certificate in one go, so that the wait for that is this and `tls_bootstrap`."},
		{Name: "upgrade_manifests", Type: typeDuration, Default: "5m", Cost: CostNone, Doc: "Until a static pod runs by its new manifest."},
	},
}

var bootstrapTokenBlock = &Block{
	Name: "bootstrap_token", Repeat: true,
	Doc: "A token to be kept, besides those that kubewright makes for a join and deletes again.",
	Attributes: []Attribute{
		{Name: "token", Type: typeString, Sensitive: true, Derived: "generated", Cost: CostObject, Doc: "The token, as in `abcdef.0123456789abcdef`."},
		{Name: "description", Type: typeString, Cost: CostObject, Doc: "What it is for."},
		{Name: "ttl", Type: typeDuration, Derived: "`24h`, unless `expires` is given", Cost: CostObject, Doc: "How long it is valid; `0s` is forever."},
		{Name: "expires", Type: typeString, Cost: CostObject, Doc: "When it expires, as in `2030-01-02T15:04:05Z`; excludes `ttl`."},
		{Name: "usages", Type: typeStrings, Default: config.DefaultTokenUsages(), Cost: CostObject, Doc: "`signing`, `authentication` or both."},
		{Name: "groups", Type: typeStrings, Default: config.DefaultTokenGroups(), Cost: CostObject, Doc: "Groups of the client that uses the token; each begins with `system:bootstrappers:`."},
	},
}

var resetBlock = &Block{
	Name: "reset", Doc: "How a node is given back, beyond what kubeadm's reset does.",
	Attributes: []Attribute{
		{Name: "cleanup_tmp_dir", Type: typeBool, Default: false, Cost: CostNone, Doc: "Also empty /etc/kubernetes/tmp where it was there before. One that was not goes in any case."},
		{Name: "unmount_flags", Type: typeStrings, Cost: CostNone, Doc: "Flags for unmounting below /var/lib/kubelet: `MNT_FORCE`, `MNT_DETACH`."},
	},
}

func patchBlock(doc string) *Block {
	return &Block{
		Name: "patch", Repeat: true, Doc: "A patch of kubeadm's kind. " + doc,
		Attributes: []Attribute{
			{Name: "target", Type: typeString, Required: true, NonEmpty: true, Cost: CostRestart, Doc: "`kube-apiserver`, `kube-controller-manager`, `kube-scheduler`, `etcd`, `kubeletconfiguration`, `corednsdeployment` or (from Kubernetes 1.37) `kubeproxydaemonset`."},
			{Name: "type", Type: typeString, Default: config.DefaultPatchType, Cost: CostRestart, Doc: "`strategic`, `merge` or `json`."},
			{Name: "content", Type: typeString, Required: true, NonEmpty: true, Cost: CostRestart, Doc: "The patch as YAML or JSON: `file(\"patch.yaml\")` or `yamlencode({…})`."},
		},
	}
}

var addonBlock = &Block{
	Name: "addon", Label: "NAME", Doc: "A manifest of yours. Its objects are applied by server-side apply, namespaces and CustomResourceDefinitions before what depends on them. " +
		"What the manifest has no longer is deleted from the cluster, and with the block all of it; a plan shows it first.",
	Attributes: []Attribute{
		{Name: "manifest", Type: typeOneOrMore, Required: true, Cost: CostObject, Doc: "YAML with one or more objects: `file(\"flannel.yaml\")` or `templatefile(…)`. Objects of Kubernetes' own kinds are checked for unknown fields and wrong types."},
	},
}

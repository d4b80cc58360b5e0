package hclconfig

// conditionRows returns the attributes of every block with a condition.
func conditionRows(condition, message string) []Attribute {
	return []Attribute{
		{Name: "condition", Type: typeBool, Required: true, Cost: CostNone, Doc: condition},
		{Name: "error_message", Type: typeString, Required: true, NonEmpty: true, Cost: CostNone, Doc: message},
	}
}

// lifecycleBlock returns the lifecycle block of clusters and nodes.
func lifecycleBlock(ignored string) *Block {
	return &Block{
		Name: "lifecycle", Doc: "What changes may do to it.",
		Attributes: []Attribute{
			{Name: "prevent_destroy", Type: typeBool, Default: false, Cost: CostNone, Doc: "Refuse every plan that would destroy or replace it. An apply records it in the state, so that the protection outlives this block; `false`, written out, lifts it."},
			{Name: "ignore_changes", Type: typeIgnored, Cost: CostNone, Doc: "Values that count only when it is made: what others set there later stays, and a change of them here is not carried out. " + ignored},
		},
		Blocks: []*Block{{
			Name: "precondition", Repeat: true, Doc: "A condition without which nothing is planned.",
			Attributes: conditionRows("Expression that has to be true.", "What to say when it is not."),
		}},
	}
}

var clusterLifecycle = lifecycleBlock("Entries are `api_server.arg[\"NAME\"]` (so for `controller_manager`, `scheduler` and `etcd`), `kubelet.config`, `kube_proxy.config`, each with keys below it, `sysctls` or one of its keys, `unit[\"NAME\"]` and `addon[\"NAME\"]`.")

var nodeLifecycle = lifecycleBlock("Entries are `labels`, `annotations`, one of their keys as in `labels[\"KEY\"]`, `taints`, `schedulable`, `kubelet.config` with keys below it, `kubelet.arg[\"NAME\"]`, `sysctls` or one of its keys, and `unit[\"NAME\"]`: those of the cluster on this node as well.")

var movedBlock = &Block{
	Name: "moved", Repeat: true, Doc: "What had one address is now another block, or another key of one. The state follows; nothing else changes.",
	Attributes: []Attribute{
		{Name: "from", Type: typeAddress, Required: true, Cost: CostNone, Doc: "The address that it had: `node.NAME`, `node.NAME[\"KEY\"]` or `cluster.NAME`. A node block's name alone is all of its nodes."},
		{Name: "to", Type: typeAddress, Required: true, Cost: CostNone, Doc: "The address that it has now."},
	},
}

var removedBlock = &Block{
	Name: "removed", Repeat: true, Doc: "What becomes of something whose block is gone. Without it a node is destroyed: drained, taken out of its cluster, and the host given back. A cluster is not, but with this block or by `kubewright destroy`.",
	Attributes: []Attribute{
		{Name: "from", Type: typeAddress, Required: true, Cost: CostNone, Doc: "The address that it had: `node.NAME`, `node.NAME[\"KEY\"]` or `cluster.NAME`, which includes its nodes. A node block's name alone is all of its nodes."},
		{Name: "unreachable", Type: typeBool, Default: false, Cost: CostNone, Doc: "The host is gone for good. Its etcd member and its Node object are removed through the other control planes, while they hold quorum, and the host is not changed. Refused while the host answers (refusing a login counts), its kubelet reports to the API, or its etcd member answers."},
	},
	Blocks: []*Block{{
		Name: "lifecycle", Doc: "What happens to it.",
		Attributes: []Attribute{
			{Name: "destroy", Type: typeBool, Default: true, Cost: CostNone, Doc: "With `false` it is only forgotten: the state drops it, and it keeps running as it is."},
			{Name: "prevent_destroy", Type: typeBool, Cost: CostNone, Doc: "`false` lifts the protection that the state remembers of it, from the time when its block said `prevent_destroy = true`."},
		},
	}},
}

var importBlock = &Block{
	Name: "import", Repeat: true, Doc: "A cluster that kubeadm made becomes ours with the next apply: the state learns it as it is. What it differs in from the configuration is planned as ever. Once it is in the state the block says nothing more. `kubewright import` writes the configuration as well, and so does `kubewright plan -generate-config-out=FILE`.",
	Attributes: []Attribute{
		{Name: "to", Type: typeAddress, Required: true, Cost: CostNone, Doc: "The cluster block that describes it: `cluster.NAME`, with the nodes that name it; or the one that is to be written."},
		{Name: "id", Type: typeString, Required: true, NonEmpty: true, Cost: CostNone, Doc: "One of its control planes, as in `ssh://10.0.0.11`: the address of a node of the cluster, so that no other cluster is adopted."},
	},
}

var checkBlock = &Block{
	Name: "check", Label: "NAME", Doc: "Conditions that every plan evaluates. One that is false is a warning and stops nothing.",
	Blocks: []*Block{{
		Name: "assert", Repeat: true, Doc: "A condition.",
		Attributes: conditionRows("Expression that should be true.", "What to say when it is not."),
	}},
}

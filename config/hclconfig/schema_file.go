package hclconfig

import "github.com/kubewright/kubewright/config"

// fileBlock and directoryBlock describe files of the user on hosts: in a cluster with the nodes that
// get them, in a node for that one.
func fileBlock(ofNode bool) *Block {
	return &Block{
		Name: "file", Label: "PATH", Doc: "A file of yours on hosts, by its absolute path. What was there before is kept, and put back when the block or the node is removed. " + whereFiles(ofNode),
		Attributes: append([]Attribute{
			{Name: "content", Type: typeString, Cost: CostRestart, Doc: "The content, as in `templatefile(…)` or `file_age(\"token.age\")`. UTF-8, at most 256 KiB. Excludes `source`."},
			{Name: "source", Type: typeString, NonEmpty: true, Cost: CostRestart, Doc: "The file with the content, relative to the configuration. Excludes `content`."},
			{Name: "mode", Type: typeString, Derived: "`0644`, sensitive `0600`", Cost: CostNone, Doc: "Permissions in octal. Set-id bits and writing by all are refused."},
			{Name: "owner", Type: typeString, Default: config.DefaultFileOwner, Cost: CostNone, Doc: "Owner on the host: `USER:GROUP`, by name or by ID, or `USER` with a group of the same name or ID."},
			{Name: "sensitive", Type: typeBool, Default: false, Cost: CostNone, Doc: "Keep the content out of plans, the state, saved plans, the journal and logs. A content made of sensitive values is sensitive in any case."},
			{Name: "restarts", Type: typeStrings, Cost: CostNone, Doc: "What reads the file only at its start, and restarts when it changes: `kube-apiserver`, `kube-controller-manager`, `kube-scheduler`, `etcd`, `kubelet`, `containerd`, `crio`. A component with an argument that names the file restarts in any case. Control planes take turns, workers go in the batches of `upgrade`."},
		}, nodesOfFiles(ofNode)...),
	}
}

func directoryBlock(ofNode bool) *Block {
	return &Block{
		Name: "directory", Label: "PATH", Doc: "A directory on hosts, by its absolute path. One that was not there before is removed with the block or the node once it is empty; others get their mode and owner back. " + whereFiles(ofNode),
		Attributes: append([]Attribute{
			{Name: "mode", Type: typeString, Default: config.DefaultDirectoryMode, Cost: CostNone, Doc: "Permissions in octal. Set-id bits and writing by all are refused."},
			{Name: "owner", Type: typeString, Default: config.DefaultFileOwner, Cost: CostNone, Doc: "Owner on the host: `USER:GROUP`, by name or by ID, or `USER` with a group of the same name or ID."},
		}, nodesOfFiles(ofNode)...),
	}
}

func whereFiles(ofNode bool) string {
	if ofNode {
		return "In place of a block of the cluster with the same path."
	}
	return "A block of a node with the same path takes its place there."
}

// nodesOfFiles are the attributes that choose the nodes of a cluster's block.
func nodesOfFiles(ofNode bool) []Attribute {
	if ofNode {
		return nil
	}
	return []Attribute{
		{Name: "roles", Type: typeStrings, Derived: "both", Cost: CostNone, Doc: "Roles of the nodes that get it: `control-plane`, `worker`."},
		{Name: "selector", Type: typeString, NonEmpty: true, Cost: CostNone, Doc: "Label selector of the nodes that get it, as in `node.example.com/pool=batch`: of the labels in the configuration."},
	}
}

package hclconfig

import (
	"strings"

	"github.com/kubewright/kubewright/config"
)

var nodeBlock = &Block{
	Name: "node", Label: "NAME", Doc: "A node of a cluster, or with `for_each` one per element: `node.NAME[\"KEY\"]`.",
	Attributes: []Attribute{
		{Name: "for_each", Type: typeForEach, Cost: CostNone, Doc: "A map or set of strings; `each.key` and `each.value` stand for the element."},
		{Name: "cluster", Type: typeReference, Required: true, Cost: CostNodeReplace, Doc: "The cluster, as in `cluster.prod`. It is a name, no expression: in JSON `\"cluster\": \"cluster.prod\"`."},
		{Name: "role", Type: typeString, Required: true, NonEmpty: true, Cost: CostNodeReplace, Doc: "`control-plane` or `worker`."},
		{Name: "address", Type: typeString, Required: true, NonEmpty: true, Cost: CostNone, Doc: "Name or IP address by which the other nodes reach the host."},
		{Name: "name", Type: typeString, Plain: strings.ToLower, Derived: "the host's name", Cost: CostNodeReplace, Doc: "Name of the node in Kubernetes. The host's name is taken when the node is first seen, and kept from then on."},
		{Name: "advertise_addresses", Type: typeStrings, Derived: "`[address]`", Cost: CostRestart, Doc: "IP addresses that components on this node advertise, one per family. Two of them are also the kubelet's `node-ip`, unless an `arg` says otherwise."},
		{Name: "labels", Type: typeStringMap, Cost: CostObject, Doc: "Labels of the node."},
		{Name: "annotations", Type: typeStringMap, Cost: CostObject, Doc: "Annotations of the node."},
		{Name: "taints", Type: typeTaints, Derived: "the role's", Cost: CostObject, Doc: "All taints that kubewright sets, with `key`, `value` and `effect`, in the place of the role's; `[]` is none, also on a control plane. Taints that others set stay, and are not shown. Excludes `taint` blocks."},
		{Name: "schedulable", Type: typeBool, Derived: "left to others", Cost: CostObject, Doc: "Whether new pods may come to the node. `false` keeps it cordoned, also through an upgrade; pods that are there stay. `true` has an apply uncordon it. Without it a node that was cordoned by hand stays so, and each plan warns of it."},
		{Name: "cri_socket", Type: typeString, Plain: socketURL, Derived: "detected", Cost: CostRestart, Doc: "Socket of the container runtime, as in `unix:///run/containerd/containerd.sock`."},
		{Name: "ignore_preflight_errors", Type: typeStrings, Cost: CostNone, Doc: "Preflight checks whose errors are only warnings on this node, besides the cluster's."},
		{Name: "skip_phases", Type: typeStrings, Cost: CostNone, Doc: "Phases that plans leave out for this node, besides the cluster's: `preflight`, `images`, `mark-control-plane`, `mark-worker`."},
		kernelModules("of this node, besides the cluster's"), sysctls("of this node, over the cluster's"),
		{Name: "image_pull_policy", Type: typeString, Derived: "the cluster's", Cost: CostNone, Doc: "When images are pulled on this node: `Always`, `IfNotPresent` or `Never`."},
		{Name: "image_pull_serial", Type: typeBool, Derived: "the cluster's", Cost: CostNone, Doc: "Pull the images of this node one after the other, instead of all at once."},
	},
	Blocks: []*Block{
		taintBlock, kubeletBlock("This node's kubelet, over the cluster's."), connectionBlock, patchBlock("This node only, after the cluster's."), unitBlock("on this node, in place of the cluster's of the same name", true), fileBlock(true), directoryBlock(true), nodeLifecycle,
	},
}

var taintBlock = &Block{
	Name: "taint", Label: "KEY", Repeat: true, Doc: "A taint of the node. The blocks together are all that kubewright sets: the role's default is not added, and taints that others set stay.",
	Attributes: []Attribute{
		{Name: "value", Type: typeString, Cost: CostObject, Doc: "The value."},
		{Name: "effect", Type: typeString, Required: true, NonEmpty: true, Cost: CostObject, Doc: "`NoSchedule`, `PreferNoSchedule` or `NoExecute`."},
	},
}

var connectionBlock = &Block{
	Name: "connection", Doc: "How to reach hosts: at the top for all nodes, in a node for that one. Each attribute is looked for in the node first.",
	Attributes: append(connectionAttributes,
		Attribute{Name: "type", Type: typeString, Default: config.DefaultConnectionType, Cost: CostNone, Doc: "`ssh`; `local` for this machine; `sim` for a simulated host, which lives in a file beside the state."},
		Attribute{Name: "sudo_password", Type: typeString, Sensitive: true, Cost: CostNone, Doc: "Password for sudo. Without it sudo must not ask. It is sent to a host only after sudo there has asked for it, and never to a login as root. Given in the connection block at the top it is the password on every host, so that each host whose sudo asks gets it; give a node its own where hosts must not know each other's. On the host of a node whose block is gone it is the one at the top."},
		Attribute{Name: "timeout", Type: typeDuration, Derived: "OpenSSH's, else `30s`", Cost: CostNone, Doc: "How long the host may take to be connected to, and from then on to show its key."},
	),
	Blocks: []*Block{{
		Name: "bastion", Repeat: true, Doc: "A host to pass on the way; several are passed in their order. What is not set here is OpenSSH's configuration, not the node's.",
		Attributes: connectionAttributes,
	}},
}

// connectionAttributes are the attributes of a connection and of its bastions.
var connectionAttributes = []Attribute{
	{Name: "host", Type: typeString, Derived: "the node's address", Cost: CostNone, Doc: "Name or address to connect to; a name may be one of OpenSSH's configuration."},
	{Name: "port", Type: typeNumber, Derived: "OpenSSH's", Cost: CostNone, Doc: "Port of the SSH server."},
	{Name: "user", Type: typeString, Derived: "OpenSSH's", Cost: CostNone, Doc: "User to log in as; root, or one who may use sudo."},
	{Name: "private_key", Type: typeOneOrMore, Derived: "OpenSSH's", Cost: CostNone, Doc: "Path of a private key, or several, tried in order; `~` is your home. Never the key itself."},
	{Name: "certificate", Type: typeString, Cost: CostNone, Doc: "Path of the SSH certificate of the key."},
	{Name: "agent", Type: typeBool, Default: true, Cost: CostNone, Doc: "Whether the SSH agent is asked."},
	{Name: "host_key", Type: typeOneOrMore, Cost: CostNone, Doc: "Public key that the host must show, as in `ssh-ed25519 AAAA…`, or several. Excludes `known_hosts`."},
	{Name: "known_hosts", Type: typeOneOrMore, Derived: "OpenSSH's", Cost: CostNone, Doc: "Path of a known_hosts file, or several."},
	{Name: "accept_new_host_keys", Type: typeBool, Default: false, Cost: CostNone, Doc: "Accept the key of a host that was never seen, and keep to it from then on. A changed key is refused all the same."},
	{Name: "ssh_config", Type: typeString, Derived: "`~/.ssh/config`", Cost: CostNone, Doc: "Path of an OpenSSH configuration, which is read as OpenSSH reads it; `none` reads none. Without it, `~/.ssh/config` and `/etc/ssh/ssh_config` count. A host is refused where `ProxyCommand`, `CanonicalizeHostname`, `RevokedHostKeys` or a `Match` by `exec`, `localnetwork`, `version`, `sessiontype` or `command` decides how to reach it."},
}

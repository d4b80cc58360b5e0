package hclconfig

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state"
)

// buildNodes builds all nodes, in the order of their addresses.
func (l *loader) buildNodes() []*config.Node {
	var out []*config.Node
	for _, set := range l.nodes {
		cluster := l.clusterOf(set.template)
		if !l.eval.instances(set) {
			l.incomplete = true
			continue
		}
		if len(out)+len(set.nodes) > maxNodes {
			l.eval.errorAt(set.template.at, "Too many nodes", "A configuration can have %d nodes.", maxNodes)
			break
		}
		for _, n := range set.nodes {
			out = append(out, l.node(n, cluster))
		}
	}
	slices.SortFunc(out, func(a, b *config.Node) int {
		return cmp.Or(cmp.Compare(a.Target.Name, b.Target.Name), cmp.Compare(a.Target.Key, b.Target.Key))
	})
	return out
}

// clusterOf returns the label of the cluster that a node block names.
func (l *loader) clusterOf(t *template) string {
	a := t.attrs["cluster"]
	if a == nil {
		return ""
	}
	label := referenceLabel(a.Expr, "cluster")
	if label == "" {
		form := "cluster = cluster.%s"
		if strings.HasSuffix(a.Expr.Range().Filename, ".json") {
			form = "\"cluster\": \"cluster.%s\""
		}
		l.eval.errorAt(a.Expr.Range(), "Invalid cluster reference", "A cluster is named directly, as in "+form+": what belongs to a cluster must be known before anything else.", exampleCluster(l.clusters))
		return ""
	}
	if l.eval.clusters[label] == nil {
		names := make([]string, 0, len(l.clusters))
		for _, c := range l.clusters {
			names = append(names, c.label)
		}
		l.eval.errorAt(a.Expr.Range(), "Reference to undeclared cluster", "A cluster with the name %q has not been declared.%s", label, suggest(label, names))
	}
	return label
}

func exampleCluster(clusters []*block) string {
	if len(clusters) == 0 {
		return "prod"
	}
	return clusters[0].label
}

// node builds a node.
func (l *loader) node(n *nodeInstance, cluster string) *config.Node {
	e, b := l.eval, n.block
	node := &config.Node{
		Target: n.target, Cluster: cluster, Source: source(b.at), Origins: config.Origins{}, Sensitive: map[string]bool{},
		Role: config.Role(e.str(b, "role")), Name: e.str(b, "name"), Address: e.str(b, "address"),
		AdvertiseAddresses: e.strings(b, "advertise_addresses"), Labels: e.stringMap(b, "labels"), Annotations: e.stringMap(b, "annotations"),
		Taints: e.taints(b), Kubelet: e.kubelet(e.one(b, "kubelet")), CRISocket: e.str(b, "cri_socket"), Patches: e.patches(b),
		IgnorePreflightErrors: e.strings(b, "ignore_preflight_errors"), SkipPhases: e.strings(b, "skip_phases"),
		KernelModules: e.strings(b, "kernel_modules"), Sysctls: e.stringMap(b, "sysctls"), Units: units(e, b, true),
		ImagePullPolicy: e.str(b, "image_pull_policy"), Lifecycle: e.lifecycle(b, n.target),
		ImagePullSerial: optional(e, b, "image_pull_serial"), Schedulable: optional(e, b, "schedulable"),
	}
	if _, ok := e.get(b, "role"); !ok || cluster == "" {
		l.incomplete = true
	}
	node.Connection = l.connection(e.one(b, "connection"))
	if node.Connection.Host == "" {
		node.Connection.Host = node.Address
	}
	l.connectionDefaults(node)
	e.origins(b, node.Origins)
	e.sensitivePaths(b, node.Sensitive)
	node.Files, node.Directories = hostFiles(l, b, true, node.Sensitive)
	return node
}

// connectionDefaults records the positions of the defaults for all nodes, and which of them are
// sensitive; those of the node overwrite them.
func (l *loader) connectionDefaults(n *config.Node) {
	if l.defaults == nil {
		return
	}
	if l.defaultOrigins == nil {
		l.defaultOrigins, l.defaultSensitive = map[string]state.Source{}, map[string]bool{}
		l.eval.origins(l.defaults, l.defaultOrigins)
		l.eval.sensitivePaths(l.defaults, l.defaultSensitive)
	}
	for path, s := range l.defaultOrigins {
		n.Origins["connection."+path] = s
	}
	for path := range l.defaultSensitive {
		n.Sensitive["connection."+path] = true
	}
}

// taints returns the taints of the attribute or of the blocks; nil for the role's default.
func (e *evaluator) taints(b *block) []state.Taint {
	var out []state.Taint
	blocks := e.all(b, "taint")
	if v, ok := e.get(b, "taints"); ok {
		if len(blocks) > 0 {
			e.errorAt(blocks[0].at, "Conflicting taints", "The attribute taints at %s and taint blocks exclude each other: each is the whole list.", place(b.attrs["taints"].at))
		}
		out = []state.Taint{}
		for it := v.ElementIterator(); it.Next(); {
			_, t := it.Element()
			taint := state.Taint{}
			for name, field := range map[string]*string{"key": &taint.Key, "value": &taint.Value, "effect": &taint.Effect} {
				if a := t.GetAttr(name); !a.IsNull() {
					*field = a.AsString()
				}
			}
			out = append(out, taint)
		}
	}
	for _, t := range blocks {
		out = append(out, state.Taint{Key: t.label, Value: e.str(t, "value"), Effect: e.str(t, "effect")})
	}
	return out
}

// connection builds the connection of a node: each attribute is the node's, or else the
// top-level block's, or else the default.
func (l *loader) connection(own *block) config.Connection {
	b := l.overlay(own)
	c := l.eval.hop(b)
	c.Type = l.eval.str(b, "type")
	c.SudoPassword = l.eval.secret(b, "sudo_password")
	c.Timeout = l.eval.duration(b, "timeout")
	bastions := l.eval.all(own, "bastion")
	if len(bastions) == 0 && l.defaults != nil {
		bastions = l.eval.all(l.defaults, "bastion")
	}
	for _, hop := range bastions {
		c.Bastions = append(c.Bastions, l.eval.hop(hop))
	}
	return c
}

// overlay returns the node's connection block with the top-level attributes as defaults.
func (l *loader) overlay(own *block) *block {
	if l.defaults == nil {
		return own
	}
	merged := *own
	merged.attrs = make(map[string]*thunk, len(own.attrs))
	for name, t := range own.attrs {
		if !t.set() {
			t = l.defaults.attrs[name]
		}
		merged.attrs[name] = t
	}
	return &merged
}

// hop builds what hosts and bastions have in common.
func (e *evaluator) hop(b *block) config.Connection {
	return config.Connection{
		Type: config.DefaultConnectionType,
		Host: e.str(b, "host"), Port: e.number(b, "port"), User: e.str(b, "user"),
		PrivateKeys: e.strings(b, "private_key"), Certificate: e.str(b, "certificate"), Agent: e.boolean(b, "agent"),
		HostKeys: e.strings(b, "host_key"), KnownHosts: e.strings(b, "known_hosts"),
		AcceptNewHostKey: e.boolean(b, "accept_new_host_keys"), SSHConfig: e.str(b, "ssh_config"),
	}
}

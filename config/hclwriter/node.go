package hclwriter

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state"
)

// nodeText is the nodes of one block.
type nodeText struct {
	block string
	// each reports whether the block has for_each; otherwise it is one node.
	each  bool
	nodes []*config.Node
}

// alike groups nodes that differ only in name and addresses. The largest group of a role gets
// the role's name, after the prefix, and for_each, so that one more node is one more line; a
// node that is like no other gets a block with its own name. Taken names are avoided, and the
// names given here are added to taken.
func alike(nodes []*config.Node, prefix string, taken map[string]bool) []nodeText {
	var out []nodeText
	planes, workers := free(taken, prefix+"cp"), free(taken, prefix+"worker")
	for _, role := range []struct {
		role config.Role
		name string
	}{{config.ControlPlane, planes}, {config.Worker, workers}} {
		var order []string
		sets := map[string][]*config.Node{}
		for _, n := range nodes {
			if n.Role != role.role {
				continue
			}
			key := likeness(n)
			if sets[key] == nil {
				order = append(order, key)
			}
			sets[key] = append(sets[key], n)
		}
		slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(len(sets[b]), len(sets[a])) })
		for i, key := range order {
			set := nodeText{block: role.name, each: true, nodes: sets[key]}
			if i > 0 {
				set.each = len(set.nodes) > 1
				set.block = free(taken, blockName(set.nodes[0].Target.Key, set.each, role.name))
			}
			out = append(out, set)
		}
	}
	return out
}

// blockName returns the name of a group's block that does not have its role's name.
func blockName(node string, several bool, role string) string {
	if !several && hclsyntax.ValidIdentifier(node) {
		return node
	}
	if name := strings.NewReplacer(".", "_").Replace(node); !several && hclsyntax.ValidIdentifier(name) {
		return name
	}
	return role + "_2"
}

// free returns the name, or the name with a number that is not taken.
func free(taken map[string]bool, name string) string {
	base, _, _ := strings.Cut(name, "_2")
	for i := 2; taken[name]; i++ {
		name = base + "_" + strconv.Itoa(i)
	}
	taken[name] = true
	return name
}

// likeness returns everything about a node except its name and addresses.
func likeness(n *config.Node) string {
	like := *n
	like.Target, like.Address, like.Connection.Host = state.Target{}, "", ""
	if n.Connection.Host != "" && n.Connection.Host != n.Address {
		like.Connection.Host = n.Connection.Host
	}
	if n.Name == n.Target.Key {
		like.Name = "the key"
	}
	like.Kubelet.Args = slices.Clone(n.Kubelet.Args)
	for i, a := range like.Kubelet.Args {
		if a.Value == n.Address {
			like.Kubelet.Args[i].Value = "the address"
		}
	}
	like.AdvertiseAddresses = make([]string, len(n.AdvertiseAddresses))
	content, err := json.Marshal(like)
	if err != nil {
		panic("internal error: cannot compare nodes: " + err.Error())
	}
	return string(content)
}

// nodes writes the block of a group.
func (t *text) nodes(set nodeText, shared config.Connection) {
	n := set.nodes[0]
	b := t.block("node", set.block)
	address, addresses := "each.value", ""
	if len(n.AdvertiseAddresses) > 1 {
		address, addresses = "each.value[0]", "each.value"
	}
	if set.each {
		m := map[string]cty.Value{}
		for _, e := range set.nodes {
			m[e.Target.Key] = cty.StringVal(e.Address)
			if addresses != "" {
				m[e.Target.Key] = stringList(e.AdvertiseAddresses)
			}
		}
		b.set("for_each", cty.MapVal(m))
	}
	b.expression("cluster", "cluster."+n.Cluster)
	b.str("role", string(n.Role))
	switch {
	case set.each:
		b.expression("address", address)
		if addresses != "" {
			b.expression("advertise_addresses", addresses)
		}
	default:
		b.str("address", n.Address)
		if addresses != "" {
			b.strings("advertise_addresses", n.AdvertiseAddresses)
		}
	}
	if n.Name != "" && set.each && n.Name == n.Target.Key {
		b.expression("name", "each.key")
	} else {
		b.str("name", n.Name)
	}
	b.stringMap("labels", n.Labels)
	if n.Taints != nil && len(n.Taints) == 0 {
		b.set("taints", cty.EmptyTupleVal)
	}
	if n.Schedulable != nil {
		b.set("schedulable", cty.BoolVal(*n.Schedulable))
	}
	b.str("cri_socket", n.CRISocket)
	for _, taint := range n.Taints {
		o := b.block("taint", taint.Key)
		o.str("value", taint.Value)
		o.str("effect", taint.Effect)
	}
	if k := b.kubelet(n.Kubelet); set.each {
		k.refer(n.Address, address)
	}
	b.block("connection", "").ownConnection(n, shared)
	b.patches(n.Patches)
}

// ownConnection writes the attributes of a node's connection that differ from the shared one.
func (t *text) ownConnection(n *config.Node, shared config.Connection) {
	own := n.Connection
	say := func(name string, v cty.Value) { t.attrs = append(t.attrs, written{name: name, value: v}) }
	if own.Type != shared.Type {
		say("type", cty.StringVal(own.Type))
	}
	if own.Host != n.Address {
		t.str("host", own.Host)
	}
	if own.Port != shared.Port {
		say("port", cty.NumberIntVal(int64(own.Port)))
	}
	if own.User != shared.User {
		say("user", cty.StringVal(own.User))
	}
}

// connectionText writes a connection.
func connectionText(t *text, c config.Connection) {
	t.str("type", c.Type)
	hopText(t, c)
	for _, hop := range c.Bastions {
		hopText(t.block("bastion", ""), hop)
	}
}

func hopText(t *text, c config.Connection) {
	t.str("host", c.Host)
	t.number("port", c.Port)
	t.str("user", c.User)
	for _, list := range []struct {
		name   string
		values []string
	}{{"private_key", c.PrivateKeys}, {"known_hosts", c.KnownHosts}} {
		if len(list.values) == 1 {
			t.str(list.name, list.values[0])
		} else {
			t.strings(list.name, list.values)
		}
	}
	t.str("certificate", c.Certificate)
	t.boolean("agent", c.Agent)
	t.boolean("accept_new_host_keys", c.AcceptNewHostKey)
	t.str("ssh_config", c.SSHConfig)
}

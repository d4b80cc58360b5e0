package config

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

// topology checks a cluster together with its nodes.
func (c checker) topology(all *Config, cl *Cluster) {
	nodes := all.NodesOf(cl.Label, "")
	planes := all.NodesOf(cl.Label, ControlPlane)
	pods, services := c.network(cl, len(nodes))
	c.nodeAddresses(nodes, pods, services)
	c.simulation(nodes)
	c.controlPlaneFamilies(planes, services)
	if !all.Incomplete && !slices.ContainsFunc(nodes, func(n *Node) bool { return n.Role != ControlPlane && n.Role != Worker }) {
		c.controlPlanes(cl, planes)
	}
	c.endpointOfNode(cl, planes)
}

// controlPlanes checks the number of control planes.
func (c checker) controlPlanes(cl *Cluster, planes []*Node) {
	n := len(planes)
	switch {
	case n == 0:
		c.errorAt(cl.Source, "Cluster without control plane", "No node has cluster = cluster.%s and role = \"control-plane\". A cluster needs at least one. To take the whole cluster away, run kubewright destroy while they are still written here.", cl.Label)
	case n > 1 && cl.ControlPlaneEndpoint == "" && !c.written("control_plane_endpoint"):
		c.errorAt(cl.Source, "Control plane endpoint is missing", "With %d control planes the nodes need one name for all of them. Add control_plane_endpoint = \"HOST:PORT\" with a balancer, or a name that you can move.", n)
	}
	if n > 1 && n%2 == 0 && cl.Etcd.External == nil {
		c.out.Append(diag.Warningf("Even number of etcd members", "%d control planes are %d members of etcd, of which %d must agree: no more can fail than with %d. Use an odd number.", n, n, n/2+1, n-1).At(cl.Source).For(c.about))
	}
}

// endpointOfNode warns about an endpoint that goes down with one node.
func (c checker) endpointOfNode(cl *Cluster, planes []*Node) {
	host, _, err := net.SplitHostPort(cl.ControlPlaneEndpoint)
	if err != nil || len(planes) < 2 {
		return
	}
	for _, n := range planes {
		own := func(a string) bool { return state.CanonicalIP(a) == state.CanonicalIP(host) }
		if own(n.Address) || slices.ContainsFunc(n.AdvertiseAddresses, own) || host == n.Name {
			c.warnf("control_plane_endpoint", "Endpoint is one node's own address", "%s is the address of %s. When that node is down, the other control planes cannot be reached, and it cannot be removed until the endpoint has moved. Use a load balancer, or a name that you can move.", host, n.Target)
			return
		}
	}
}

// nodeAddresses requires node addresses outside of the pod and service subnets.
func (c checker) nodeAddresses(nodes []*Node, pods, services []netip.Prefix) {
	for _, n := range nodes {
		nc := c.of(n)
		for _, s := range append([]string{n.Address}, n.AdvertiseAddresses...) {
			a, err := netip.ParseAddr(s)
			if err != nil {
				continue
			}
			if p, ok := holds(pods, a); ok {
				nc.errorf("address", "Node address inside a subnet of the cluster", "%s lies in the pod subnet %s: pods could get the same address, and the node would not be reached.", a, p)
				break
			}
			if p, ok := holds(services, a); ok {
				nc.errorf("address", "Node address inside a subnet of the cluster", "%s lies in the service subnet %s: traffic to the node would end in a service.", a, p)
				break
			}
		}
	}
}

// simulation requires all hosts of a cluster to be simulated, or none.
func (c checker) simulation(nodes []*Node) {
	for _, n := range nodes {
		if (n.Connection.Type == "sim") == (nodes[0].Connection.Type == "sim") {
			continue
		}
		nc := c.of(n)
		nc.errorf("connection.type", "Simulated and real hosts in one cluster", "The connection of %s is of the type %q and that of %s of the type %q. A simulated host cannot be reached by a real one.", n.Target, n.Connection.Type, nodes[0].Target, nodes[0].Connection.Type)
		return
	}
}

// of returns a checker for a node of the cluster.
func (c checker) of(n *Node) checker {
	c.origins, c.hidden, c.block, c.about = n.Origins, n.Sensitive, n.Source, n.Target
	return c
}

func holds(subnets []netip.Prefix, a netip.Addr) (netip.Prefix, bool) {
	for _, p := range subnets {
		if p.Contains(a.Unmap()) {
			return p, true
		}
	}
	return netip.Prefix{}, false
}

// controlPlaneFamilies requires API servers to advertise an address of the primary IP family;
// they do not start otherwise.
func (c checker) controlPlaneFamilies(planes []*Node, services []netip.Prefix) {
	if len(services) == 0 {
		return
	}
	for _, n := range planes {
		a, err := netip.ParseAddr(n.AdvertiseAddress())
		if err != nil || a.Is4() == services[0].Addr().Is4() {
			continue
		}
		nc := c.of(n)
		path := "advertise_addresses"
		if !nc.written(path) {
			path = "address"
		}
		nc.errorf(path, "Address families differ", "The API server advertises %s, and the first service subnet %s is of the other family; it would not start. List the address of the services' family first in advertise_addresses.", a, services[0])
	}
}

// checkDuplicates reports hosts and names that are used twice.
func (c *Config) checkDuplicates(out *diag.Diagnostics) {
	c.unique(out, "Node name used twice", "name", func(n *Node) []string {
		if n.Name == "" {
			return nil
		}
		return []string{n.Cluster + "/" + n.Name}
	}, func(n, before *Node, _ string) string {
		return fmt.Sprintf("The name %q is also that of %s. Names are unique in a cluster.", n.Name, before.Target)
	})
	c.unique(out, "Node address used twice", "address", func(n *Node) []string {
		addresses := append([]string{n.Address}, n.AdvertiseAddresses...)
		slices.Sort(addresses)
		return slices.DeleteFunc(slices.Compact(addresses), func(s string) bool { return s == "" })
	}, func(_, before *Node, address string) string {
		return fmt.Sprintf("%s is also an address of %s. A host can be one node only.", address, before.Target)
	})
	c.unique(out, "Host used twice", "connection", func(n *Node) []string {
		switch n.Connection.Type {
		case "local":
			return []string{"this machine"}
		case "ssh":
			if n.Connection.Host != n.Address {
				return []string{net.JoinHostPort(n.Connection.Host, strconv.Itoa(n.Connection.Port)) + through(n.Connection)}
			}
		}
		return nil
	}, func(_, before *Node, host string) string {
		return fmt.Sprintf("The connection leads to %s, as does that of %s. A host can be one node only.", host, before.Target)
	})
}

// through returns a connection's bastions: private addresses behind different bastions are
// different hosts.
func through(n Connection) string {
	s := ""
	for _, b := range n.Bastions {
		s += " through " + b.Host
	}
	return s
}

// unique reports a value that two nodes share, at the later one.
func (c *Config) unique(out *diag.Diagnostics, summary, path string, of func(*Node) []string, explain func(n, before *Node, value string) string) {
	first := map[string]*Node{}
	nodes := slices.Clone(c.Nodes)
	slices.SortStableFunc(nodes, func(a, b *Node) int {
		return cmp.Or(cmp.Compare(a.Source.File, b.Source.File), cmp.Compare(a.Source.StartByte, b.Source.StartByte))
	})
	for _, n := range nodes {
		for _, v := range of(n) {
			before, ok := first[v]
			if !ok {
				first[v] = n
				continue
			}
			at := n.Origins.Of(path)
			if at.IsZero() {
				at = n.Source
			}
			out.Append(diag.Errorf(summary, "%s", explain(n, before, v)).At(at).In(n.Source).For(n.Target))
			break
		}
	}
}

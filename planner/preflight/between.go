package preflight

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/planner/topology"
)

// etcdPeerPort is the port on which members of etcd reach each other.
const etcdPeerPort = 2380

// maxPeers limits the ports that a host tries to reach.
const maxPeers = 16

// Peers returns the ports of other hosts that a joining host has to reach, as ADDRESS:PORT, the most
// important first.
func Peers(n *topology.Node) []string {
	var apis, members, kubelets []string
	add := func(list *[]string, to *topology.Node, port int) {
		if _, err := netip.ParseAddr(to.AdvertiseAddress()); err == nil {
			*list = append(*list, net.JoinHostPort(to.AdvertiseAddress(), strconv.Itoa(port)))
		}
	}
	for _, to := range n.Cluster.Nodes {
		if to == n {
			continue
		}
		if to.IsControlPlane() && reachesDirectly(n) {
			add(&apis, to, n.Cluster.BindPort)
		}
		if to.IsControlPlane() && n.IsControlPlane() && n.Cluster.Etcd.External == nil {
			add(&members, to, etcdPeerPort)
		}
		if n.IsControlPlane() {
			add(&kubelets, to, kubeletPort)
		}
	}
	all := slices.Concat(apis, members, kubelets)
	return all[:min(len(all), maxPeers)]
}

// reachesDirectly reports whether the host reaches API servers at their own addresses: a control plane
// does, and others where the endpoint is the address of one.
func reachesDirectly(n *topology.Node) bool {
	host, _, err := net.SplitHostPort(n.Cluster.ControlPlaneEndpoint)
	if err != nil {
		host = n.Cluster.ControlPlaneEndpoint
	}
	return n.IsControlPlane() || host == "" || slices.ContainsFunc(n.Cluster.ControlPlanes(), func(cp *topology.Node) bool {
		return topology.SameAddress(host, cp.AdvertiseAddress())
	})
}

// PathTo returns the address of the first control plane that is another host; empty if there is none.
func PathTo(n *topology.Node) string {
	for _, to := range n.Cluster.ControlPlanes() {
		if _, err := netip.ParseAddr(to.AdvertiseAddress()); err == nil && to != n {
			return to.AdvertiseAddress()
		}
	}
	return ""
}

// peerPorts finds ports of observed hosts that this host does not reach.
func peerPorts(n *topology.Node) []finding {
	var needed, kubelets []string
	for _, peer := range strings.Fields(n.Report.Preflight[answerUnreachable]) {
		host, port, err := net.SplitHostPort(peer)
		to := slices.IndexFunc(n.Cluster.Nodes, func(o *topology.Node) bool { return topology.SameAddress(host, o.AdvertiseAddress()) })
		switch {
		case err != nil || to < 0 || n.Cluster.Nodes[to].Report == nil: // its host is down, which is said elsewhere
		case port == strconv.Itoa(kubeletPort):
			kubelets = append(kubelets, peer)
		default:
			needed = append(needed, peer)
		}
	}
	var out []finding
	if len(needed) > 0 {
		out = append(out, finding{
			text:   fmt.Sprintf("nothing answers on %s, not even that the port is closed: a firewall between the hosts drops what the cluster needs", strings.Join(needed, ", ")),
			remedy: "let these ports through, in firewalls of the hosts and of the network between them",
		})
	}
	if len(kubelets) > 0 {
		out = append(out, finding{
			warning: true,
			text:    fmt.Sprintf("nothing answers on %s, not even that the port is closed: the API server reaches kubelets there, for logs, exec and metrics", strings.Join(kubelets, ", ")),
			remedy:  "let the port through, in firewalls of the hosts and of the network between them",
		})
	}
	return out
}

// pathMTU finds an interface whose packets are too large for the way to a control plane.
func pathMTU(n *topology.Node) []finding {
	device, mtu, there := strings.Cut(n.Report.Preflight[answerPathMTU], "/")
	if !there || PathTo(n) == "" {
		return nil
	}
	return []finding{{
		warning: true,
		text:    fmt.Sprintf("interface %s has an MTU of %s, and a packet of that size does not arrive at %s, while a small one does: connections would hang as soon as they carry more", device, mtu, PathTo(n)),
		remedy:  "set the MTU of the interface to what the network carries, the same on all hosts, before the network addon takes its own from it",
	}}
}

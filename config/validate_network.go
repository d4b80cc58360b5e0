package config

import (
	"net"
	"net/netip"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// kubeadm's limits for subnets.
const (
	maxServiceHostBits = 20
	minHostBits        = 4 // 10 addresses for services, 14 for pods
	maxNodeMaskSpread  = 16
)

// CompleteEndpoint adds the port to an endpoint without one. A text that is no endpoint is
// returned as is, for Validate to report.
func CompleteEndpoint(endpoint string, port int) string {
	if endpoint == "" {
		return ""
	}
	if host, _, err := net.SplitHostPort(endpoint); err == nil && host != "" {
		return endpoint
	}
	bare := strings.TrimSuffix(strings.TrimPrefix(endpoint, "["), "]")
	if validHost(bare) {
		return net.JoinHostPort(bare, strconv.Itoa(port))
	}
	return endpoint
}

// validHost reports whether a text is a DNS name or an IP address.
func validHost(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return len(validation.IsDNS1123Subdomain(host)) == 0
}

// endpoint checks control_plane_endpoint.
func (c checker) endpoint(endpoint string) {
	const path, summary = "control_plane_endpoint", "Invalid control plane endpoint"
	if endpoint == "" {
		return
	}
	if strings.Contains(endpoint, "://") {
		c.errorf(path, summary, "%s is a URL. Write HOST:PORT alone, without https:// and without a path.", c.show(path, endpoint))
		return
	}
	host, port, err := net.SplitHostPort(endpoint)
	if !strings.Contains(endpoint, ":") { // a port would have been added to any host
		host, port, err = endpoint, strconv.Itoa(DefaultBindPort), nil
	}
	if err != nil {
		c.errorf(path, summary, "%s is not HOST:PORT, as in \"api.example.com:6443\".", c.show(path, endpoint))
		return
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		c.errorf(path, summary, "The port %s is not a number from 1 to 65535.", Quote(port))
	}
	if !validHost(host) {
		c.errorf(path, summary, "The host %s is neither an IP address nor a DNS name in lower case.", Quote(host))
	}
	if a, err := netip.ParseAddr(host); err == nil && (a.IsUnspecified() || a.IsMulticast()) {
		c.errorf(path, summary, "%s is no address that can be connected to.", host)
	}
}

// subnets parses one CIDR or two of different families, and reports what is wrong.
func (c checker) subnets(path, value string) []netip.Prefix {
	const summary = "Invalid subnet"
	if value == "" {
		return nil
	}
	var out []netip.Prefix
	for part := range strings.SplitSeq(value, ",") {
		p, err := netip.ParsePrefix(strings.TrimSpace(part))
		switch {
		case err != nil:
			c.errorf(path, summary, "%s is no CIDR, as in \"10.244.0.0/16\"; two of different families are separated by a comma.", Quote(part))
			return nil
		case part != strings.TrimSpace(part):
			c.errorf(path, summary, "There is a space beside the comma, which components do not accept. Write the two without it.")
			return nil
		case p.Addr().Is4In6():
			c.errorf(path, summary, "%s is an IPv4 address written as IPv6. Write it as IPv4.", Quote(part))
			return nil
		case p != p.Masked():
			c.warnf(path, "Subnet with host bits", "%s names an address inside of the subnet. The subnet itself is %s.", part, p.Masked())
		}
		if netip.MustParsePrefix("fec0::/10").Overlaps(p) {
			c.warnf(path, "Deprecated addresses", "%s lies in fec0::/10, the site-local addresses that were given up in 2004 (RFC 3879). Use fd00::/8.", p)
		}
		out = append(out, p.Masked())
	}
	switch {
	case len(out) > 2:
		c.errorf(path, summary, "%s are %d subnets; there can be one, or two of different families.", c.show(path, value), len(out))
		return nil
	case len(out) == 2 && out[0].Addr().Is4() == out[1].Addr().Is4():
		c.errorf(path, summary, "%s are two subnets of the same family. Dual stack is one of IPv4 and one of IPv6.", c.show(path, value))
		return nil
	}
	return out
}

// network checks the network block and the related arguments of components.
func (c checker) network(cl *Cluster, nodes int) (pods, services []netip.Prefix) {
	n := cl.Network
	services = c.subnets("network.service_subnet", n.ServiceSubnet)
	for _, p := range services {
		c.serviceSubnet(p)
	}
	pods = c.subnets("network.pod_subnet", n.PodSubnet)
	if lastArg(cl.ControllerManager.Args, "allocate-node-cidrs") != "false" {
		for _, p := range pods {
			c.podSubnet(p, cl.ControllerManager.Args, nodes)
		}
	}
	c.families(pods, services)
	if n.DNSDomain != "" {
		if bad := validation.IsDNS1123Subdomain(n.DNSDomain); len(bad) > 0 {
			c.errorf("network.dns_domain", "Invalid DNS domain", "%s is no domain: %s.", c.show("network.dns_domain", n.DNSDomain), reasons(bad))
		}
	}
	return pods, services
}

func hostBits(p netip.Prefix) int { return p.Addr().BitLen() - p.Bits() }

func (c checker) serviceSubnet(p netip.Prefix) {
	const path, summary = "network.service_subnet", "Service subnet of an unsuitable size"
	switch bits := hostBits(p); {
	case bits < minHostBits:
		c.errorf(path, summary, "%s has room for %d addresses. Services need at least 10, of which the first is the API's and the tenth the DNS server's; use /%d or a shorter mask.", p, 1<<bits, p.Addr().BitLen()-minHostBits)
	case bits > maxServiceHostBits:
		c.errorf(path, summary, "%s has more addresses than the API server can hand out. Use /%d or a longer mask.", p, p.Addr().BitLen()-maxServiceHostBits)
	}
}

// podSubnet checks that every node gets its part of the subnet.
func (c checker) podSubnet(p netip.Prefix, args []Arg, nodes int) {
	const path, summary = "network.pod_subnet", "Pod subnet of an unsuitable size"
	mask, name := 24, "node-cidr-mask-size-ipv4"
	if p.Addr().Is6() {
		mask, name = 64, "node-cidr-mask-size-ipv6"
	}
	for _, a := range []string{"node-cidr-mask-size", name} {
		if v := lastArg(args, a); v != "" {
			n, err := strconv.ParseInt(v, 0, 32)
			if err != nil {
				return // the check of its flag reports it
			}
			if n < 1 || int(n) > p.Addr().BitLen() {
				c.errorf(`controller_manager.arg["`+a+`"]`, "Invalid argument", "%s is not a mask of %d bits or less.", Quote(v), p.Addr().BitLen())
				return
			}
			mask = int(n)
		}
	}
	switch {
	case hostBits(p) < minHostBits:
		c.errorf(path, summary, "%s has room for %d addresses; pods need at least 14.", p, 1<<hostBits(p))
	case p.Bits() > mask:
		c.errorf(path, summary, "Each node gets a /%d of the pod subnet, and %s is smaller than that. Use a shorter mask, or set controller_manager's argument %s.", mask, p, name)
	case mask-p.Bits() > maxNodeMaskSpread:
		c.errorf(path, summary, "Each node gets a /%d of the pod subnet, and %s would be more than 65536 of them, which the controller manager refuses. Use /%d or a longer mask, or set controller_manager's argument %s.", mask, p, mask-maxNodeMaskSpread, name)
	case nodes > 1<<(mask-p.Bits()):
		c.errorf(path, summary, "Each node gets a /%d of the pod subnet, and %s has only %d of them for %d nodes. Use a subnet with a shorter mask, or a longer mask of each node's part in controller_manager's argument %s.", mask, p, 1<<(mask-p.Bits()), nodes, name)
	}
}

// families checks that pods and services use the same IP families.
func (c checker) families(pods, services []netip.Prefix) {
	if len(pods) == 0 || len(services) == 0 {
		return
	}
	const path = "network.pod_subnet"
	if pods[0].Addr().Is4() != services[0].Addr().Is4() {
		c.errorf(path, "Address families differ", "The first pod subnet %s and the first service subnet %s are of different families. The first ones are the primary family of the cluster and must agree.", pods[0], services[0])
	} else if len(services) == 2 && len(pods) == 1 {
		c.errorf("network.service_subnet", "Address families differ", "Services have two families and pods only one: services of the second would have no endpoints. Give pod_subnet two CIDRs as well.")
	}
	for _, p := range pods {
		for _, s := range services {
			if p.Overlaps(s) {
				c.errorf(path, "Subnets overlap", "The pod subnet %s and the service subnet %s overlap, so that traffic to one would end in the other. Write other addresses in pod_subnet, or in service_subnet.", p, s)
			}
		}
	}
}

// lastArg returns the value of an argument; the last of several counts.
func lastArg(args []Arg, name string) string {
	for i := len(args) - 1; i >= 0; i-- {
		if args[i].Name == name {
			return args[i].Value
		}
	}
	return ""
}

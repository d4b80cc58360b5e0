package lab

import (
	"fmt"
	"net/netip"
	"strings"
)

// Families are the address families of a lab's hosts and pods.
type Families string

// The kinds of labs by address families.
const (
	IPv4      Families = "" // IPv4 only
	IPv6      Families = "ipv6"
	DualStack Families = "dual-stack" // both, IPv4 first
)

func (f Families) check() error {
	switch f {
	case IPv4, IPv6, DualStack:
		return nil
	}
	return fmt.Errorf("cannot give hosts addresses of %q: there are %q and %q, and IPv4 by default", string(f), IPv6, DualStack)
}

// podSubnet4 and podSubnet6 hold the pods of all hosts: host number N has 10.244.N.0/24 and
// fd00:10:244:N::/64. All labs can use the same ranges: pods are reached only through the hosts
// of their own lab.
var (
	podSubnet4 = netip.MustParsePrefix("10.244.0.0/16")
	podSubnet6 = netip.MustParsePrefix("fd00:10:244::/56")
)

// only returns the values of the lab's families, in order.
func only[T any](f Families, v4, v6 T) []T {
	switch f {
	case IPv6:
		return []T{v6}
	case DualStack:
		return []T{v4, v6}
	}
	return []T{v4}
}

// addresses returns the addresses with number N in a lab's subnet: in 10.77.5.0/24, number 11 has
// 10.77.5.11 and fd00:10:77:5::b.
func (f Families) addresses(subnet netip.Prefix, n int) []netip.Addr {
	v4 := octet(subnet, n)
	b := v4.As4()
	var v6 [16]byte
	copy(v6[:], []byte{0xfd, 0, 0, 0x10, 0, 0x77, 0, b[2]})
	v6[15] = b[3]
	return only(f, v4, netip.AddrFrom16(v6))
}

// pods returns the pod ranges of host number N.
func (f Families) pods(n int) []netip.Prefix {
	v4, v6 := podSubnet4.Addr().As4(), podSubnet6.Addr().As16()
	v4[2], v6[7] = byte(n), byte(n)
	return only(f, netip.PrefixFrom(netip.AddrFrom4(v4), 24), netip.PrefixFrom(netip.AddrFrom16(v6), 64))
}

// podSubnets returns the ranges that hold the pods of all hosts.
func (f Families) podSubnets() []netip.Prefix { return only(f, podSubnet4, podSubnet6) }

// ServiceSubnets returns ranges for a cluster's Services.
func (f Families) ServiceSubnets() []netip.Prefix {
	return only(f, netip.MustParsePrefix("10.96.0.0/12"), netip.MustParsePrefix("fd00:10:96::/112"))
}

// JoinPrefixes returns ranges in the form that Kubernetes takes.
func JoinPrefixes(all []netip.Prefix) string {
	var words []string
	for _, p := range all {
		words = append(words, p.String())
	}
	return strings.Join(words, ",")
}

// octet returns the address with number N in an IPv4 subnet.
func octet(subnet netip.Prefix, n int) netip.Addr {
	b := subnet.Addr().As4()
	b[3] = byte(n)
	return netip.AddrFrom4(b)
}

// number returns the host's number, the last byte of its addresses.
func (h Host) number() int {
	b := h.Address().AsSlice()
	return int(b[len(b)-1])
}

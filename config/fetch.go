package config

import (
	"net/netip"
	"regexp"
	"strings"
)

// A host that fetches from an address in the configuration reaches what the operator may not:
// its own services that listen only on loopback, and the metadata service of its cloud
// provider, which hands out credentials without authentication. No repository is there.

// hostPattern is a name that the resolvers of all hosts read in the same way.
var hostPattern = regexp.MustCompile(`^[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9])?\.?$`)

// numericEnd is the last label of a name that resolvers take for an IPv4 address, in any of its
// forms.
var numericEnd = regexp.MustCompile(`(?:^|\.)(?:[0-9]+|0[xX][0-9a-fA-F]*)\.?$`)

// metadataNames are the names of metadata services and of the machine itself; names below them
// count as well.
var metadataNames = []string{"localhost", "localdomain", "metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal"}

// metadataAddresses are the addresses of metadata services that are not link-local.
var metadataAddresses = []netip.Addr{
	netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("fd00:ec2::23"), netip.MustParseAddr("fd20:ce::254"),
	netip.MustParseAddr("100.100.100.200"), netip.MustParseAddr("192.0.0.192"), netip.MustParseAddr("168.63.129.16"),
}

// embeddings are the prefixes of IPv6 addresses that embed an IPv4 address, with the byte at
// which it begins.
var embeddings = map[netip.Prefix]int{
	netip.MustParsePrefix("64:ff9b::/96"): 12, netip.MustParsePrefix("2002::/16"): 2, netip.MustParsePrefix("::/96"): 12,
}

// Unfetchable says why nothing is fetched from the host of a URL, without its port; empty if it
// may be. A private address is allowed: mirrors have one.
func Unfetchable(host string) string {
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if a, err := netip.ParseAddr(host); err == nil {
		return unfetchable(a.WithZone("").Unmap())
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	switch {
	case !hostPattern.MatchString(host):
		return "is no name of a host"
	case numericEnd.MatchString(host):
		return "is no IPv4 address in its usual form of four numbers"
	}
	for _, n := range metadataNames {
		if name == n || strings.HasSuffix(name, "."+n) && !strings.HasPrefix(n, "metadata") && n != "instance-data" {
			return "is the host itself or a metadata service"
		}
	}
	return ""
}

func unfetchable(a netip.Addr) string {
	for prefix, at := range embeddings {
		if bytes := a.As16(); a.Is6() && prefix.Contains(a) && !a.IsUnspecified() && !a.IsLoopback() {
			inner, _ := netip.AddrFromSlice(bytes[at : at+4])
			return unfetchable(inner)
		}
	}
	for _, m := range metadataAddresses {
		if a == m {
			return "is the address of a metadata service"
		}
	}
	first := byte(0)
	if a.Is4() {
		first = a.As4()[0]
	}
	switch {
	case a.IsLoopback():
		return "is a loopback address, which means the host itself"
	case a.IsUnspecified(), a.Is4() && (first == 0 || first >= 240):
		return "is no address of a host"
	case a.IsLinkLocalUnicast():
		return "is a link-local address, where metadata services are"
	case a.IsMulticast():
		return "is a multicast address"
	}
	return ""
}

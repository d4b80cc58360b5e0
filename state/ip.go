package state

import "net/netip"

// CanonicalIP prints an IP address as Go does, so that two of them can be compared however
// each was written; what is no address stays as it is.
func CanonicalIP(s string) string {
	if a, err := netip.ParseAddr(s); err == nil {
		return a.Unmap().String()
	}
	return s
}

package state

import "net/netip"

// CanonicalIP returns an IP address in Go's form, so that differently written addresses compare
// equal; any other text is returned unchanged.
func CanonicalIP(s string) string {
	if a, err := netip.ParseAddr(s); err == nil {
		return a.Unmap().String()
	}
	return s
}

package lab

import (
	"net/netip"
	"testing"
)

func TestNamesFitTheKernel(t *testing.T) {
	t.Parallel()
	n := names{"abcdefghij"} // the maximum length of a lab's name
	for _, link := range []string{n.bridge(), n.link("w200")} {
		if len(link) > 15 {
			t.Errorf("link name %s is too long", link)
		}
	}
	if n.link("w1") == n.link("w2") || n.link("w1") == (names{"other"}).link("w1") {
		t.Error("two hosts have the same link name")
	}
}

// TestLabNamePrefixesAreDistinct checks that the names of one lab are not mistaken for those of another
// lab whose name starts with it.
func TestLabNamePrefixesAreDistinct(t *testing.T) {
	t.Parallel()
	if got := (names{"a"}).prefix(); got != "kwlab-a-" {
		t.Errorf("prefix %q", got)
	}
}

func TestChooseSubnet(t *testing.T) {
	t.Parallel()
	first := netip.MustParsePrefix("10.77.0.0/24")
	if got, err := chooseSubnet(defaultName, nil); err != nil || got != first {
		t.Errorf("of the default lab: %s, %v", got, err)
	}
	used := []netip.Prefix{first, netip.MustParsePrefix("10.77.1.128/25"), netip.MustParsePrefix("192.0.2.0/24")}
	if got, err := chooseSubnet(defaultName, used); err != nil || got.String() != "10.77.2.0/24" {
		t.Errorf("beside others: %s, %v", got, err)
	}
	other, err := chooseSubnet("other", nil)
	if err != nil || other == first {
		t.Errorf("of another lab: %s, %v", other, err)
	}
	if again, _ := chooseSubnet("other", nil); again != other {
		t.Errorf("the same lab has %s, then %s", other, again)
	}
	if _, err := chooseSubnet("x", []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}); err == nil {
		t.Error("a subnet was found although all are used")
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	if got := mac(netip.MustParsePrefix("10.77.5.0/24"), 21); got != "02:4b:0a:4d:05:15" {
		t.Errorf("hardware address %s", got)
	}
	for _, families := range []Families{IPv4, IPv6, DualStack} {
		for _, h := range chooseHosts(families, netip.MustParsePrefix("10.77.5.0/24"), 1, 1) {
			for i, p := range h.Pods {
				if !families.podSubnets()[i].Overlaps(p) || h.number() != 11 && h.number() != 21 {
					t.Errorf("%q: host %d has pods %s", families, h.number(), p)
				}
			}
		}
	}
	name, endpoint := testLab(t).Endpoint()
	if name != "api.x.test" || endpoint.String() != "10.77.5.1:6443" {
		t.Errorf("endpoint %s at %s", name, endpoint)
	}
}

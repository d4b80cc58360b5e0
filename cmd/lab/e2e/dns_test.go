//go:build e2e

package e2e

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
)

// wantDNS checks that the cluster's DNS, at each address that a control plane's kubelet gives to
// pods, resolves the API.
func (s *site) wantDNS() {
	s.t.Helper()
	host := s.planes[0].Name
	set := func(filter string) []string {
		return strings.Fields(s.sh(host, "sed -n '"+filter+"' /var/lib/kubelet/config.yaml"))
	}
	domain, servers := set("s/^clusterDomain: //p"), set("/^clusterDNS:/,/^[^-]*:/s/^ *- //p")
	if len(domain) != 1 || len(servers) == 0 {
		s.t.Fatalf("the kubelet of %s hands out the domain %v and the servers %v", host, domain, servers)
	}
	api := netip.MustParseAddr(s.kubectl("get", "service", "kubernetes", "-o", "jsonpath={.spec.clusterIP}"))
	name := dnsmessage.MustNewName("kubernetes.default.svc." + domain[0] + ".")
	for _, server := range servers {
		s.eventually(fmt.Sprintf("%s at %s resolves to %s", name, server, api), func() (string, bool) {
			found, err := s.ask(host, server, name, api.Is6())
			if err != nil {
				return err.Error(), false
			}
			return fmt.Sprint(found), len(found) == 1 && found[0] == api
		})
	}
}

// ask queries a DNS server from a host, over UDP (RFC 1035 §4.1).
func (s *site) ask(host, server string, name dnsmessage.Name, v6 bool) ([]netip.Addr, error) {
	kind := dnsmessage.TypeA
	if v6 {
		kind = dnsmessage.TypeAAAA
	}
	asked := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: 1, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: name, Type: kind, Class: dnsmessage.ClassINET}},
	}
	packed, err := asked.Pack()
	if err != nil {
		return nil, err
	}
	var query strings.Builder
	for _, b := range packed {
		fmt.Fprintf(&query, `\x%02x`, b)
	}
	// dd sends one datagram: printf would send one per newline, and a length can be a newline.
	out := s.sh(host, fmt.Sprintf(`bash -c 'exec 3<>/dev/udp/%s/53; printf "%s" | dd bs=4096 iflag=fullblock >&3 2>/dev/null; timeout 5 dd bs=4096 count=1 <&3 2>/dev/null | od -An -v -tx1' || true`, server, query.String()))
	packed, err = hex.DecodeString(strings.Join(strings.Fields(out), ""))
	if err != nil {
		return nil, err
	}
	var answer dnsmessage.Message
	if err := answer.Unpack(packed); err != nil {
		return nil, fmt.Errorf("no answer: %w", err)
	}
	var found []netip.Addr
	for _, r := range answer.Answers {
		switch body := r.Body.(type) {
		case *dnsmessage.AResource:
			found = append(found, netip.AddrFrom4(body.A))
		case *dnsmessage.AAAAResource:
			found = append(found, netip.AddrFrom16(body.AAAA))
		}
	}
	return found, nil
}

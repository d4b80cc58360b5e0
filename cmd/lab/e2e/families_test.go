//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"github.com/kubewright/kubewright/cmd/lab/internal/lab"
)

// TestIPv6 runs a cluster's whole life in a network without IPv4, including etcd members.
func TestIPv6(t *testing.T) {
	begin(t)
	s := newSiteOf(t, lab.Options{Name: "e2e6", Families: lab.IPv6, ControlPlanes: 3, Workers: 1})
	s.life(s.drift)
}

// wantAddresses checks that every node reports all addresses of its host.
func (s *site) wantAddresses() {
	s.t.Helper()
	for _, h := range s.hosts() {
		out := s.kubectl("get", "node", s.nodeName(h), "-o", `jsonpath={.status.addresses[?(@.type=="InternalIP")].address}`)
		if want := strings.ReplaceAll(quoted(h), `"`, ""); strings.Join(strings.Fields(out), ", ") != want {
			s.t.Errorf("node %s has the addresses %s, want %s", h.Name, out, want)
		}
	}
}

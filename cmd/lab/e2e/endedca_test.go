//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestEndedCAs lets every CA of a cluster expire, so that no component trusts another, and
// replaces all of them at once with the command from the plan: over SSH alone, kubelets included.
func TestEndedCAs(t *testing.T) {
	begin(t)
	s := newSite(t, "e2eend", 3, 1)
	s.logIn()
	before := s.listings()
	const ends = 9 * time.Minute // enough to create the cluster while other tests run
	s.extra = fmt.Sprintf("  certificates {\n    ca_validity = %q\n    validity = %q\n    renew_before = \"1m\"\n  }\n", ends, ends)
	s.configure()
	s.must("apply", "-auto-approve", "-no-color")
	s.wantCluster()
	old := s.onPlanes(casOf)
	s.sh(s.planes[0].Name, "cp /etc/kubernetes/admin.conf /root/old.conf")
	const every = "/etc/kubernetes/pki/ca.crt /etc/kubernetes/pki/front-proxy-ca.crt /etc/kubernetes/pki/etcd/ca.crt"
	s.eventually("all CAs have expired", func() (string, bool) {
		out := s.sh(s.planes[0].Name, "for f in "+every+"; do openssl x509 -noout -checkend 0 -in $f || true; done")
		return out, strings.Count(out, "will expire") == 3
	})

	s.extra = "  certificates {\n    validity = \"2h\"\n    renew_before = \"10m\"\n  }\n"
	s.configure()
	r := s.run("plan", "-no-color")
	command := "kubewright apply -replace=cluster.prod/ca -replace=cluster.prod/front-proxy-ca -replace=cluster.prod/etcd-ca"
	if r.code != 1 {
		t.Errorf("plan that keeps expired CAs: exit code %d", r.code)
	}
	wantContains(t, r.out, command)
	r = s.must(append(strings.Fields(command)[1:], "-auto-approve", "-no-color")...)
	t.Logf("all expired CAs replaced on 3 control planes and a worker: %s", r.took.Round(100*time.Millisecond))
	s.must("apply", "-auto-approve", "-no-color") // what is stored in the API
	s.wantNoChanges()
	s.wantRotated(old, true, 6)
	s.wantCluster()
	s.wantWorkload()
	if !t.Failed() {
		s.wantGone(before)
	}
}

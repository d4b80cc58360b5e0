package pipeline_test

import (
	"slices"
	"testing"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/planfile"
	"github.com/kubewright/kubewright/planner/record"
)

// TestPlanListsCertificateExpiry checks that a plan lists the expiry of every certificate on every host, even if it
// has nothing to do, and which of them it reissues; and that its digest does not depend on the day.
func TestPlanListsCertificateExpiry(t *testing.T) {
	t.Parallel()
	o := founded(t, 2, 1)
	p, err := o.plan()
	o.must(err)
	all := record.Certificates(o.fleet)
	if len(all) < 30 || len(p.Certificates) != len(all) {
		t.Fatalf("the plan lists %d certificates, the hosts have %d", len(p.Certificates), len(all))
	}
	for i, h := range all {
		e := p.Certificates[i]
		if e.Path != h.Path || e.Node != h.Node || e.Host != h.Host || !e.NotAfter.Equal(h.NotAfter) || e.DaysLeft != h.DaysLeft || e.RenewedBy != h.RenewedBy || e.Changed {
			t.Errorf("the plan lists %+v for %+v", e, h)
		}
	}
	for _, path := range []string{"/etc/kubernetes/super-admin.conf", pkiDir + "etcd/peer.crt", pkiDir + "ca.crt", "/var/lib/kubelet/pki/kubelet-client-current.pem", "/var/lib/kubelet/pki/kubelet.crt"} {
		if !slices.ContainsFunc(p.Certificates, func(e planner.CertificateEnd) bool { return e.Path == path }) {
			t.Errorf("the plan does not list %s", path)
		}
	}
	if !p.Empty() || len(p.FirstEnds()) != 1 {
		t.Errorf("the first to expire are %+v; nothing to do: %t", p.FirstEnds(), p.Empty())
	}
	digest := planfile.Digest(p)
	o.world.Advance(48 * time.Hour)
	later, err := o.plan()
	o.must(err)
	if later.Certificates[0].DaysLeft != p.Certificates[0].DaysLeft-2 || planfile.Digest(later) != digest {
		t.Errorf("two days later %d days are left of %d, and the digest is the same: %t", later.Certificates[0].DaysLeft, p.Certificates[0].DaysLeft, planfile.Digest(later) == digest)
	}

	// Certificates that are due are reissued; the others expire later.
	o.world.Advance(8040 * time.Hour)
	p, err = o.plan()
	o.must(err)
	for _, e := range p.Certificates {
		if due := e.RenewedBy == planner.ByApply; e.Due != due || e.Changed != due {
			t.Errorf("due %t, changed %t: %s on %s, renewed by %s", e.Due, e.Changed, e.Path, e.Host, e.RenewedBy)
		}
	}
	for _, e := range p.FirstEnds() {
		if e.Kind != "ca" {
			t.Errorf("the first to expire of those that stay is %s", e.Path)
		}
	}
}

// TestPlanListsOverdueKubeletCertificate checks that the plan lists a kubelet certificate that was not renewed in
// time.
func TestPlanListsOverdueKubeletCertificate(t *testing.T) {
	t.Parallel()
	o := founded(t, 1, 1)
	w1 := o.config.Nodes[1]
	const server = "/var/lib/kubelet/pki/kubelet-server-current.pem"
	o.edit(w1.Address, "unit kubelet stop")
	o.edit(w1.Address, "file /var/lib/kubelet/pki/kubelet.crt move "+server)
	o.world.Advance(8040 * time.Hour)
	p, err := o.plan()
	o.must(err)
	i := slices.IndexFunc(p.Certificates, func(e planner.CertificateEnd) bool { return e.Node == w1.Target && e.RenewedBy == planner.ByKubelet })
	if i < 0 || !p.Certificates[i].Due {
		t.Fatalf("nothing is due on %s: %+v", w1.Target, p.Certificates)
	}
	if !slices.ContainsFunc(p.Certificates, func(e planner.CertificateEnd) bool { return e.Path == server && e.Due }) {
		t.Errorf("the plan does not list %s", server)
	}
	if first := p.FirstEnds(); len(first) != 1 || first[0].Node != w1.Target {
		t.Errorf("the first to expire is %+v", first)
	}
}

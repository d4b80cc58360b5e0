package pipeline_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/pki/pkitest"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
)

// restarts returns the processes that a plan restarts, and the certificates that it waits to see
// served, with their nodes.
func restarts(p *planner.Plan) (ended, shown []string) {
	for _, s := range p.Steps {
		for _, op := range s.Operations {
			switch op := op.(type) {
			case planner.RestartProcess:
				ended = append(ended, fmt.Sprintf("%s on %s for %s", op.Process.Name, s.Target.Key, strings.Join(op.Files, " ")))
			case planner.Wait:
				if op.For == planner.WaitServed {
					shown = append(shown, fmt.Sprintf("%s at %s", op.Name, op.URL))
				}
			}
		}
	}
	return ended, shown
}

// TestCertificateRenewedByHandIsLoaded checks that a certificate that was renewed by hand without a restart is loaded by
// the component that reads it only at its start, and that no other one restarts.
func TestCertificateRenewedByHandIsLoaded(t *testing.T) {
	t.Parallel()
	for files, want := range map[string][]string{
		"controller-manager.conf": {"kube-controller-manager on cp2 for /etc/kubernetes/controller-manager.conf"},
		"scheduler.conf":          {"kube-scheduler on cp2 for /etc/kubernetes/scheduler.conf"},
		"admin.conf pki/apiserver.crt pki/apiserver-kubelet-client.crt pki/front-proxy-client.crt pki/apiserver-etcd-client.crt " +
			"pki/etcd/server.crt pki/etcd/peer.crt pki/etcd/healthcheck-client.crt": nil,
	} {
		t.Run(files, func(t *testing.T) {
			t.Parallel()
			o := founded(t, 3, 0)
			for file := range strings.FieldsSeq(files) {
				o.must(sim.Edit(o.world, "10.0.0.12", "file /etc/kubernetes/"+file+" renew"))
			}
			p, err := o.plan()
			o.must(err)
			if ended, _ := restarts(p); !slices.Equal(ended, want) || len(p.Steps) != len(want) {
				t.Errorf("restarts %v, want %v:\n%s", ended, want, describe(p))
			}
			o.must(o.carryOut())
			o.wantNothing()
		})
	}
}

// TestCertificateRenewalOneControlPlaneAtATime checks that certificates that expire soon are renewed on one control plane after the
// other; the next one is not touched before the previous one is healthy.
func TestCertificateRenewalOneControlPlaneAtATime(t *testing.T) {
	t.Parallel()
	o := founded(t, 3, 1)
	o.world.Advance(340 * 24 * time.Hour)
	p, err := o.plan()
	o.must(err)
	ended, shown := restarts(p)
	if len(ended) != 6 || len(shown) != 9 || !slices.Contains(shown, "/etc/kubernetes/pki/etcd/peer.crt at https://10.0.0.13:2380") {
		t.Errorf("restarts %v, waits to see %v", ended, shown)
	}
	for _, c := range p.Changes {
		if c.Reason != planner.ReasonDue || c.Shown["days_left"].AsString() != "24" {
			t.Errorf("%s: %s, %v", c.Address, c.Reason, c.Shown)
		}
	}
	if len(p.Drift) > 0 {
		t.Errorf("the passing of time is reported as drift: %v", p.Drift)
	}
	last := map[string]int{}
	for i, s := range p.Steps {
		last[s.Target.Key] = i
	}
	for i, s := range p.Steps {
		for _, before := range map[string][]string{"cp2": {"cp1"}, "cp3": {"cp1", "cp2"}}[s.Target.Key] {
			if last[before] > i {
				t.Errorf("%s does not wait for all steps on %s", s.ID, before)
			}
		}
	}
	o.must(o.carryOut())
	o.wantNothing()
}

// TestExternalEtcdCAChangeRestartsAPIServers checks that API servers restart in order to trust another CA of an external etcd.
func TestExternalEtcdCAChangeRestartsAPIServers(t *testing.T) {
	t.Parallel()
	cfg, _ := withExternalEtcd(t, "/etc/etcd-client")
	o := newOperator(t, cfg)
	o.must(o.apply())
	ca := pkitest.NewCA(t, "another", "ECDSA", simulated.Add(-time.Hour))
	cfg.Clusters[0].Etcd.External.CAContent = string(ca.Certificate)
	p, err := o.plan()
	o.must(err)
	ended, _ := restarts(p)
	if want := []string{"kube-apiserver on cp1 for /etc/etcd-client/ca.pem", "kube-apiserver on cp2 for /etc/etcd-client/ca.pem"}; !slices.Equal(ended, want) {
		t.Errorf("restarts %v, want %v:\n%s", ended, want, describe(p))
	}
	for _, s := range p.Steps {
		if s.Phase == "control-plane" && (len(s.Gates) != 2 || len(s.Limits) != 1) {
			t.Errorf("%s: limits %v, gates %v", s.ID, s.Limits, s.Gates)
		}
	}
	o.must(o.carryOut())
	o.wantNothing()
}

// TestCertificateSettingChangeReissuesCertificates checks that changed certificate settings reissue all affected certificates, and that CAs
// stay.
func TestCertificateSettingChangeReissuesCertificates(t *testing.T) {
	t.Parallel()
	later := founded(t, 3, 0)
	later.world.Advance(20 * 24 * time.Hour)
	later.wantNothing()
	for name, tt := range map[string]struct {
		change  func(c *config.Cluster)
		changes int
		want    string
	}{
		"names":         {func(c *config.Cluster) { c.APIServer.CertSANs = []string{"api.example.org", "10.9.9.9"} }, 1, "dns_names"},
		"names of etcd": {func(c *config.Cluster) { c.Etcd.ServerCertSANs = []string{"etcd.example.org"} }, 1, "dns_names"},
		"algorithm":     {func(c *config.Cluster) { c.Certificates.Algorithm = "ECDSA-P384" }, 10, `algorithm: "RSA-2048" -> "ECDSA-P384"`},
		"shorter":       {func(c *config.Cluster) { c.Certificates.Validity = 90 * 24 * time.Hour }, 10, `validity: "8760h0m0s" -> "2160h0m0s"`},
		"longer":        {func(c *config.Cluster) { c.Certificates.Validity = 2 * 365 * 24 * time.Hour }, 10, `-> "17520h0m0s"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := later.copy(t)
			o.config = cluster(3, 0)
			tt.change(o.config.Clusters[0])
			p, err := o.plan()
			o.must(err)
			certificates := slices.DeleteFunc(slices.Clone(p.Changes), func(c planner.Change) bool {
				return c.Kind != state.KindCertificate && c.Kind != state.KindKubeconfig
			})
			if text := describe(p); len(certificates) != 3*tt.changes || !strings.Contains(text, tt.want) {
				t.Errorf("%d certificates change, want %d and %s:\n%s", len(certificates), 3*tt.changes, tt.want, text)
			}
			o.must(o.carryOut())
			o.wantNothing()
		})
	}
}

// TestExpiredKubeletCertificatesAreRecovered checks that one apply recovers hosts that were off until all certificates had
// expired, including the kubelets' own.
func TestExpiredKubeletCertificatesAreRecovered(t *testing.T) {
	t.Parallel()
	o := founded(t, 3, 2)
	for _, n := range o.config.Nodes {
		o.must(sim.Edit(o.world, n.Address, "power off"))
	}
	o.world.Advance(400 * 24 * time.Hour)
	for _, n := range o.config.Nodes {
		o.must(sim.Edit(o.world, n.Address, "power on"))
	}
	p, err := o.plan()
	o.must(err)
	if text := describe(p); strings.Count(text, "kubelet-client-current.pem (renewal due)") != 5 {
		t.Errorf("the plan does not give 5 kubelets certificates:\n%s", text)
	}
	o.must(o.carryOut())
	o.must(o.apply()) // for objects that could not be observed before
	o.wantNothing()
}

// TestExpiringCAIsReportedAndExpiredRefused checks that a CA of ours that expires soon is reported in time, and that nothing is
// planned with an expired one.
func TestExpiringCAIsReportedAndExpiredRefused(t *testing.T) {
	t.Parallel()
	o := founded(t, 1, 0)
	for years, want := range map[int]string{8: "", 9: "CA expires before its certificates", 10: "CA certificate has expired"} {
		v := o.observe()
		v.ObservedAt = o.world.Now().Add(time.Duration(years)*365*24*time.Hour + time.Hour)
		_, diags := pipeline.Plan(v, planner.Plan{}, planner.Options{})
		show(t, diags...)
		seen := slices.ContainsFunc(diags, func(d *diag.Diagnostic) bool { return d.Summary == want && d.Severity == diag.Error == (years == 10) })
		if want == "" && len(diags) > 0 || want != "" && (!seen || len(diags) != 3) {
			t.Errorf("after %d years: %v, want %q of three CAs", years, diags, want)
		}
	}
}

// TestCertificateReplacedByOtherPathIsNotAwaited checks that the plan neither waits nor restarts a component for a file that the
// configuration has replaced by another path.
func TestCertificateReplacedByOtherPathIsNotAwaited(t *testing.T) {
	t.Parallel()
	o := founded(t, 1, 0)
	c := o.config.Clusters[0]
	c.APIServer.Component.Args = append(c.APIServer.Component.Args, config.Arg{Name: "tls-cert-file", Value: "/etc/kubernetes/pki/other.crt"})
	c.Scheduler.Args = append(c.Scheduler.Args, config.Arg{Name: "kubeconfig", Value: "/etc/kubernetes/other.conf"})
	o.world.Advance(340 * 24 * time.Hour)
	p, err := o.plan()
	o.must(err)
	ended, shown := restarts(p)
	if want := []string{"kube-controller-manager on cp1 for /etc/kubernetes/controller-manager.conf"}; !slices.Equal(ended, want) || len(shown) != 2 {
		t.Errorf("restarts %v, waits to see %v", ended, shown)
	}
}

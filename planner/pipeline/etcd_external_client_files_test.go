package pipeline_test

import (
	"crypto/x509"
	"slices"
	"strings"
	"testing"
	"time"

	udiff "github.com/aymanbagabas/go-udiff"
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/phases/pki/pkitest"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
)

// withExternalEtcd returns a configuration whose client files for etcd the operator provides in a
// folder; renew reissues the client certificate.
func withExternalEtcd(t *testing.T, dir string) (cfg *config.Config, renew func(until time.Time)) {
	t.Helper()
	cfg = cluster(2, 1)
	ca := pkitest.NewCA(t, "etcd", "ECDSA", simulated.Add(-time.Hour))
	e := &config.ExternalEtcd{
		Endpoints: []string{"https://etcd-1.example.com:2379"}, CAFile: dir + "/ca.pem", CertFile: dir + "/client.pem", KeyFile: dir + "/client-key.pem",
		CAContent: string(ca.Certificate),
	}
	cfg.Clusters[0].Etcd.External = e
	renew = func(until time.Time) {
		s := pki.Supply{Name: "client", Certificate: kubeadm.Certificate{CommonName: "kube-apiserver-etcd-client", Usages: []string{"client auth"}}}
		files := ca.Supply(t, s, simulated.Add(-time.Hour), until, func(*x509.Certificate) {})
		e.CertContent, e.KeyContent = string(files["client.crt"]), state.NewSecret(files["client.key"])
	}
	renew(simulated.AddDate(1, 0, 0))
	return cfg, renew
}

// TestExternalEtcdClientFilesAreManaged checks that the client files are written to every control plane, renewed and
// restored there, and removed again.
func TestExternalEtcdClientFilesAreManaged(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"/etc/kubernetes/pki/etcd", "/etc/ssl/private/etcd", "/etc/ssl/certs"} {
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			cfg, renew := withExternalEtcd(t, dir)
			o := newOperator(t, cfg)
			before := o.listings()
			p, err := o.plan()
			o.must(err)
			if text := describeJSON(t, p); strings.Contains(text, "PRIVATE KEY") || !strings.Contains(text, `"config:cluster.prod#etcd.external.key"`) {
				t.Error("the plan does not hold a reference to the key, or holds the key")
			}
			o.must(o.carryOut())
			o.wantNothing()
			o.wantClientFiles(dir, 2)

			renew(simulated.AddDate(2, 0, 0))
			p, err = o.plan()
			o.must(err)
			if len(p.Changes) != 2 || len(p.Steps) != 2 || !strings.Contains(describeJSON(t, p), "client-key.pem") {
				t.Errorf("want a plan with only the certificate and its key on two hosts:\n%s", describe(p))
			}
			o.must(o.carryOut())
			o.wantNothing()

			cfg.Clusters[0].Etcd.External.CAContent += givenCA(t, "next", "ECDSA").Certificate
			p, err = o.plan()
			o.must(err)
			if text := describe(p); strings.Count(text, "/ca.pem (configuration changed)\n    chain: ") != 2 {
				t.Errorf("the plan does not write the second CA:\n%s", text)
			}
			o.must(o.carryOut())
			o.wantNothing()

			o.must(sim.Edit(o.world, "10.0.0.12", "file "+dir+"/client-key.pem delete"))
			o.must(o.apply())
			o.wantNothing()
			o.wantClientFiles(dir, 2)

			o.destroy = true
			o.must(o.apply())
			if after := o.listings(); after != before {
				t.Errorf("hosts differ from before:\n%s", udiff.Unified("before", "after", before, after))
			}
		})
	}
}

func (o *operator) wantClientFiles(dir string, planes int) {
	o.t.Helper()
	for i, n := range o.config.Nodes {
		listing := o.world.Listing(n.Address)
		for _, name := range []string{"ca.pem", "client.pem", "client-key.pem"} {
			if strings.Contains(listing, dir+"/"+name) != (i < planes) {
				o.t.Errorf("%s on %s: want it on the control planes alone", name, n.Address)
			}
		}
	}
}

// TestExternalEtcdRefusesExpiredCertificate checks that a client certificate that expires soon is reported, and an expired
// one refused.
func TestExternalEtcdRefusesExpiredCertificate(t *testing.T) {
	t.Parallel()
	cfg, _ := withExternalEtcd(t, "/etc/etcd-client")
	for days, want := range map[int][]string{0: nil, 350: {"Client certificate for etcd expires soon"}, 366: {"Client certificate for etcd has expired"}} {
		v := blankHosts(cfg)
		v.ObservedAt = simulated.AddDate(0, 0, days)
		_, diags := pipeline.Plan(v, planner.Plan{}, planner.Options{})
		var got []string
		show(t, diags...)
		for _, d := range diags {
			got = append(got, d.Summary)
		}
		if !slices.Equal(got, want) {
			t.Errorf("after %d days: %v, want %v", days, got, want)
		}
	}
}

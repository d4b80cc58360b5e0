package pipeline_test

import (
	"encoding/base64"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/pki/pkitest"
	"github.com/kubewright/kubewright/state"
)

// reissuing is a cluster with a CA of the operator's that expires after half a year.
type reissuing struct {
	*operator
	holder *holder
	ca     *pkitest.CA
}

// newReissuing returns one whose CA keys are with the operator, on the hosts, or elsewhere, by custody.
func newReissuing(t *testing.T, custody string) *reissuing {
	t.Helper()
	h := withoutKeys(t, 2, 1)
	r := &reissuing{operator: newOperator(t, h.config), holder: h, ca: h.cas["certificates.ca"]}
	r.reissue(simulated.AddDate(-10, 6, 0))
	p := &h.config.Clusters[0].Certificates
	if custody == "without key" {
		h.sign(simulated.AddDate(1, 0, 0), nil)
		return r
	}
	p.Supplied, p.SuppliedFiles = "", nil
	for block, ca := range map[string]*config.GivenCA{"ca": &p.CA, "front_proxy_ca": &p.FrontProxyCA, "etcd_ca": &p.EtcdCA} {
		ca.Key, ca.OnHosts = state.NewSecret(h.cas["certificates."+block].Key), custody == "on hosts"
	}
	return r
}

// reissue replaces the configured CA's certificate by one for the same key.
func (r *reissuing) reissue(from time.Time) {
	r.t.Helper()
	r.ca.Reissue(r.t, from)
	r.config.Clusters[0].Certificates.CA.Certificate = string(r.ca.Certificate)
}

// TestReissuedCAReachesAllClients checks that a CA certificate that is reissued for the same key reaches all that trust
// the CA, so that the expiry of the former one has no effect.
func TestReissuedCAReachesAllClients(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		custody string
		before  func(r *reissuing)
	}{
		"on hosts":          {"on hosts", func(*reissuing) {}},
		"with the operator": {"with the operator", func(*reissuing) {}},
		"supplied and gone": {"without key", func(r *reissuing) { clear(r.holder.files()) }},
		"supplied again":    {"without key", func(r *reissuing) { r.holder.sign(simulated.AddDate(1, 0, 0), nil) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReissuing(t, c.custody)
			r.must(r.apply())
			r.wantNoDrift()
			r.reissue(simulated.Add(-time.Hour))
			c.before(r)
			r.must(r.apply())
			r.wantNoDrift()
			r.wantTrusted()
			r.world.Advance(200 * 24 * time.Hour)
			if d := r.world.Distrust(); len(d) > 0 {
				t.Errorf("after the former certificate has expired: %s", strings.Join(d, "; "))
			}
			r.wantNoDrift()
		})
	}
}

// wantTrusted checks that all kubeconfigs and cluster-info have the CA's certificate.
func (r *reissuing) wantTrusted() {
	r.t.Helper()
	seen := map[string]int{}
	for _, n := range r.config.Nodes {
		files := r.fleet.Reports[n.Target].Files
		want := files["/etc/kubernetes/pki/ca.crt"].Certificates[0].Serial
		for path, f := range files {
			if f.Kubeconfig == nil {
				continue
			}
			seen[path]++
			if r.config.Clusters[0].Certificates.CA.Key.IsZero() && strings.HasSuffix(path, "super-admin.conf") {
				continue // only the bootstrap needs it, and no user of it is left here
			}
			if len(f.Kubeconfig.CAs) != 1 || f.Kubeconfig.CAs[0].Serial != want {
				r.t.Errorf("%s on %s trusts %+v, want %s", path, n.Address, f.Kubeconfig.CAs, want)
			}
		}
	}
	want := map[string]int{"admin.conf": 2, "super-admin.conf": 1, "controller-manager.conf": 2, "scheduler.conf": 2, "kubelet.conf": 3}
	for name, times := range want {
		if seen["/etc/kubernetes/"+name] != times {
			r.t.Errorf("%d hosts have %s, want %d", seen["/etc/kubernetes/"+name], name, times)
		}
	}
	info := r.fleet.ClusterReports["prod"].Objects[state.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "kube-public", Name: "cluster-info"}]
	if !strings.Contains(info.Get("data.kubeconfig").AsString(), base64.StdEncoding.EncodeToString(r.ca.Certificate)) {
		r.t.Error("cluster-info lacks the CA's certificate")
	}
}

// TestReissuedCAIsWrittenDuringUpgrade checks that an upgrade in the same apply writes it as well.
func TestReissuedCAIsWrittenDuringUpgrade(t *testing.T) {
	t.Parallel()
	for _, custody := range []string{"on hosts", "with the operator"} {
		t.Run(custody, func(t *testing.T) {
			t.Parallel()
			r := newReissuing(t, custody)
			cl := r.config.Clusters[0]
			cl.KubernetesVersion, cl.Upgrade.AllowDowntime = "1.35.8", true
			r.kubelets("1.35.8")
			r.must(r.apply())
			r.wantNothing()
			cl.KubernetesVersion = "1.36.3"
			r.kubelets("1.36.3")
			r.reissue(simulated.Add(-time.Hour))
			r.must(r.apply())
			r.wantNoDrift()
			r.wantTrusted()
			if custody == "with the operator" {
				r.wantOwnFromKubeconfig()
			}
		})
	}
}

// TestReissuedCARestartsKubeconfigReaders checks that components that read a kubeconfig only at their start are
// restarted.
func TestReissuedCARestartsKubeconfigReaders(t *testing.T) {
	t.Parallel()
	r := newReissuing(t, "on hosts")
	r.must(r.apply())
	r.reissue(simulated.Add(-time.Hour))
	p, err := r.plan()
	r.must(err)
	restarts := map[string]int{}
	for _, s := range p.Steps {
		for _, op := range s.Operations {
			switch op := op.(type) {
			case planner.RestartProcess:
				restarts[op.Process.Name]++
			case planner.SetKubeconfig:
				restarts[op.Path+" "+op.Trust]++
			}
		}
	}
	want := map[string]int{"kube-controller-manager": 2, "kube-scheduler": 2, "/etc/kubernetes/kubelet.conf /etc/kubernetes/pki/ca.crt": 3}
	if !maps.Equal(restarts, want) {
		t.Errorf("the plan has %v, want %v:\n%s", restarts, want, describe(p))
	}
}

// TestReissuedCAReplacesExpiredCertificate checks that after the former certificate has expired, so that no client trusts
// an API server, the new one is written over SSH, and to the cluster once the API answers.
func TestReissuedCAReplacesExpiredCertificate(t *testing.T) {
	t.Parallel()
	for _, custody := range []string{"on hosts", "with the operator", "without key"} {
		t.Run(custody, func(t *testing.T) {
			t.Parallel()
			r := newReissuing(t, custody)
			r.must(r.apply())
			r.world.Advance(200 * 24 * time.Hour)
			if d := r.world.Distrust(); len(d) == 0 {
				t.Error("no client distrusts the expired CA")
			}
			r.reissue(simulated.Add(-time.Hour))
			clear(r.holder.files())
			r.must(r.apply())
			r.must(r.apply())
			r.wantNothing()
			r.wantTrusted()
			if d := r.world.Distrust(); len(d) > 0 {
				t.Error(strings.Join(d, "; "))
			}
		})
	}
}

// TestReissuedCAReachesJoiningNode checks that a node that joins in the same apply has the new certificate as well.
func TestReissuedCAReachesJoiningNode(t *testing.T) {
	t.Parallel()
	r := newReissuing(t, "on hosts")
	all := r.config.Nodes
	r.config.Nodes = all[:1]
	r.must(r.apply())
	r.config.Nodes = all
	r.reissue(simulated.Add(-time.Hour))
	r.must(r.apply())
	r.wantNothing()
	r.wantTrusted()
}

// TestOperatorCAStateOfEarlierVersionShowsNoDrift checks that attributes that an earlier version did not record are no
// difference.
func TestOperatorCAStateOfEarlierVersionShowsNoDrift(t *testing.T) {
	t.Parallel()
	for _, custody := range []string{"on hosts", "with the operator", "without key"} {
		r := newReissuing(t, custody)
		r.must(r.apply())
		forgotten := 0
		for i := range r.recorded.Items {
			it := &r.recorded.Items[i]
			m := maps.Clone(it.Attributes.AsMap())
			for _, name := range []string{planner.CASerial, "chain"} {
				if _, ok := m[name]; ok {
					delete(m, name)
					forgotten++
				}
			}
			if m != nil {
				it.Attributes = state.Map(m)
			}
		}
		r.wantNoDrift()
		if forgotten < 10 {
			t.Errorf("%s: the state had only %d attributes of that kind", custody, forgotten)
		}
	}
}

// TestOperatorCAIsRotated checks the rotation to another given CA. Afterwards items that trust it are
// compared by its certificate again.
func TestOperatorCAIsRotated(t *testing.T) {
	t.Parallel()
	r := newReissuing(t, "on hosts")
	r.must(r.apply())
	other := givenCA(t, "Another", "ECDSA")
	other.OnHosts = true
	r.config.Clusters[0].Certificates.CA = other
	r.rotate = append(r.rotate, rotationOf(t, "ca"))
	r.must(r.apply())
	r.rotate = nil
	r.must(r.apply())
	r.wantNoDrift()
}

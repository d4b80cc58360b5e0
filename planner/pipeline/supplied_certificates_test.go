package pipeline_test

import (
	"crypto/x509"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/phases/pki/pkitest"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/state"
)

// holder has the keys of a cluster's CAs, which kubewright does not get.
type holder struct {
	t      *testing.T
	config *config.Config
	cas    map[string]*pkitest.CA
}

// withoutKeys returns the holder of the CA keys for a configuration without them.
func withoutKeys(t *testing.T, planes, workers int) *holder {
	t.Helper()
	h := &holder{t: t, config: cluster(planes, workers), cas: map[string]*pkitest.CA{}}
	for _, n := range h.config.Nodes {
		n.Name = n.Target.Key
	}
	p := &h.config.Clusters[0].Certificates
	p.Supplied, p.SuppliedFiles = "supplied", map[string]state.Secret{}
	for block, into := range map[string]*config.GivenCA{"ca": &p.CA, "front_proxy_ca": &p.FrontProxyCA, "etcd_ca": &p.EtcdCA} {
		ca := pkitest.NewCA(t, "Example "+block, "ECDSA", simulated.Add(-time.Hour))
		h.cas["certificates."+block], into.Certificate = ca, string(ca.Certificate)
	}
	h.sign(simulated.AddDate(1, 0, 0), nil)
	return h
}

// sign signs everything that has to be supplied, valid until the given time.
func (h *holder) sign(until time.Time, change func(pki.Supply, *x509.Certificate)) {
	h.t.Helper()
	for _, s := range pki.Supplies(h.config, "prod") {
		alter := func(c *x509.Certificate) {
			if change != nil {
				change(s, c)
			}
		}
		for name, content := range h.cas[s.CA].Supply(h.t, s, simulated.Add(-time.Hour), until, alter) {
			h.files()[name] = state.NewSecret(content)
		}
	}
}

func (h *holder) files() map[string]state.Secret {
	return h.config.Clusters[0].Certificates.SuppliedFiles
}

// TestRequiredSuppliesMatchKubeadm checks that the required supplies are the files that kubeadm needs in external CA mode,
// on the first control plane, on others and on workers.
func TestRequiredSuppliesMatchKubeadm(t *testing.T) {
	t.Parallel()
	h := withoutKeys(t, 2, 1)
	var got []string
	for _, s := range pki.Supplies(h.config, "prod") {
		got = append(got, s.Name)
	}
	names := []string{
		"pki/apiserver", "pki/apiserver-kubelet-client", "pki/front-proxy-client", "pki/etcd/server", "pki/etcd/peer",
		"pki/etcd/healthcheck-client", "pki/apiserver-etcd-client", "admin.conf", "super-admin.conf", "kubelet.conf",
		"controller-manager.conf", "scheduler.conf",
	}
	var want []string
	for _, node := range []string{"cp1", "cp2"} {
		for _, name := range names {
			if node == "cp1" || name != "super-admin.conf" {
				want = append(want, node+"/"+name)
			}
		}
	}
	if want = append(want, "w1/kubelet.conf"); !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	h.config.Clusters[0].Certificates.FrontProxyCA, h.config.Clusters[0].Certificates.EtcdCA = config.GivenCA{}, config.GivenCA{}
	if n := len(pki.Supplies(h.config, "prod")); n != 2*6+1+1 {
		t.Errorf("%d files of the cluster's CA alone", n)
	}
}

// TestSuppliedCertificatesClusterLife checks the life of a cluster with supplied certificates, and that no key is ever in a
// plan or the state.
func TestSuppliedCertificatesClusterLife(t *testing.T) {
	t.Parallel()
	h := withoutKeys(t, 3, 1)
	all := h.config.Nodes
	o := newOperator(t, h.config)
	before := o.listings()
	h.config.Nodes = all[:3]
	p, err := o.plan()
	o.must(err)
	h.wantNoKeys(p)
	for _, s := range p.Steps {
		for _, op := range s.Operations {
			switch op := op.(type) {
			case planner.IssueCA, planner.IssueCertificate, planner.WriteKubeconfig, planner.CreateToken:
				t.Errorf("%s: %s", s.ID, op.Summary())
			}
		}
	}
	o.must(o.carryOut())
	o.wantNothing()
	h.wantNoKeys(o.recorded)
	h.config.Nodes = all // the worker joins
	o.must(o.apply())
	o.wantNothing()
	h.config.Nodes = all[1:] // the founder leaves
	o.must(o.apply())
	o.wantNothing()
	h.config.Nodes = all[:3] // it returns, and the worker leaves
	o.must(o.apply())
	o.destroy = true
	clear(h.files())
	o.must(o.apply()) // needs no supplied files any more
	h.config.Nodes = all
	if after := o.listings(); after != before {
		t.Error("hosts differ from before")
	}
}

// wantNoKeys checks that nothing that is stored or shown contains the supplied keys.
func (h *holder) wantNoKeys(v any) {
	h.t.Helper()
	text := describeJSON(h.t, v)
	for name, content := range h.files() {
		lines := strings.Split(string(content.Reveal()), "\n")
		if strings.HasSuffix(name, ".key") && strings.Contains(text, lines[1]) || strings.Contains(text, "PRIVATE KEY") || strings.Contains(text, "client-key-data") {
			h.t.Fatalf("%s is in a %T", name, v)
		}
	}
}

// TestSuppliedCertificatesRenewal checks that supplied certificates that expire soon are reported, and that new ones
// under the same names are planned and used, and nothing else changes.
func TestSuppliedCertificatesRenewal(t *testing.T) {
	t.Parallel()
	h := withoutKeys(t, 1, 1)
	o := newOperator(t, h.config)
	o.must(o.apply())
	o.world.Advance(340 * 24 * time.Hour)
	r, diags := pipeline.Plan(o.observe(), planner.Plan{}, planner.Options{})
	show(t, diags...)
	if len(diags) != 1 || diags[0].Summary != "Supplied certificates expire soon" || strings.Count(diags[0].Detail, "until") != 12 || !r.Plan.Empty() {
		t.Fatalf("got %v and\n%s", diags, describe(r.Plan))
	}
	was := maps.Clone(h.files())
	h.sign(simulated.AddDate(2, 0, 0), nil)
	for name := range was {
		if name != "w1/kubelet.conf" && !strings.HasPrefix(name, "cp1/pki/apiserver.") {
			h.files()[name] = was[name]
		}
	}
	p, err := o.plan()
	o.must(err)
	text := describe(p)
	if len(p.Changes) != 2 || len(p.Steps) != 3 || // the third one waits until the API server serves the new certificate
		!slices.ContainsFunc(p.Steps, func(s planner.Step) bool { return s.Impact == "loads the new certificates without a restart" }) || !strings.Contains(text, `not_after: "2027-03-02T09:00:00Z" -> "2028-03-02T09:00:00Z"`) {
		t.Errorf("want a plan with the two files:\n%s", text)
	}
	o.must(o.carryOut())
	o.wantNothing()
}

// TestSuppliedFilesThatDoNotFitAreReported checks that all supplies that do not fit are reported in the plan at once.
func TestSuppliedFilesThatDoNotFitAreReported(t *testing.T) {
	t.Parallel()
	h := withoutKeys(t, 1, 1)
	good := maps.Clone(h.files())
	foreign := withoutKeys(t, 1, 1)
	resign := func(change func(pki.Supply, *x509.Certificate)) func() {
		return func() { h.sign(simulated.AddDate(1, 0, 0), change) }
	}
	of := func(name string, change func(*x509.Certificate)) func() {
		return resign(func(s pki.Supply, c *x509.Certificate) {
			if s.Name == name {
				change(c)
			}
		})
	}
	put := func(name, content string) func() {
		return func() { h.files()[name] = state.NewSecret([]byte(content)) }
	}
	for _, c := range []struct {
		name  string
		spoil func()
		want  []string
	}{
		{"nothing", func() {}, nil},
		{"missing", func() { delete(h.files(), "cp1/pki/etcd/peer.key"); delete(h.files(), "w1/kubelet.conf") }, []string{
			"cp1/pki/etcd/peer: there is no cp1/pki/etcd/peer.key", `CN=cp1, for server auth and client auth, names cp1, localhost, 10.0.0.11, 127.0.0.1, ::1`,
			`w1/kubelet.conf: there is no w1/kubelet.conf`, `CN=system:node:w1, O=system:nodes, for client auth, server https://api.example.com:6443`,
		}},
		{"no PEM", put("cp1/pki/apiserver.crt", "x"), []string{"cp1/pki/apiserver: this is not PEM"}},
		{"key of another", func() { h.files()["cp1/pki/apiserver.key"] = h.files()["cp1/pki/etcd/peer.key"] }, []string{"its key: this is not the key of the certificate"}},
		{"name", of("cp1/scheduler.conf", func(c *x509.Certificate) { c.Subject.CommonName = "scheduler" }), []string{
			`cp1/scheduler.conf: its common name is "scheduler", it must be "system:kube-scheduler"`,
		}},
		{"organization", of("w1/kubelet.conf", func(c *x509.Certificate) { c.Subject.Organization = nil }), []string{`w1/kubelet.conf: it has no organization, and it must have "system:nodes"`}},
		{"administrators", of("cp1/admin.conf", func(c *x509.Certificate) { c.Subject.Organization = []string{"system:masters"} }), nil},
		{"names", of("cp1/pki/apiserver", func(c *x509.Certificate) { c.DNSNames, c.IPAddresses = c.DNSNames[:1], c.IPAddresses[:1] }), []string{
			"it is not valid for kubernetes.default.svc.cluster.local", "it is not valid for 10.0.0.11",
		}},
		{"usage", of("cp1/pki/etcd/server", func(c *x509.Certificate) { c.ExtKeyUsage = c.ExtKeyUsage[:1] }), []string{"cp1/pki/etcd/server: it does not allow client auth"}},
		{"another CA", func() { maps.Copy(h.files(), foreign.files()) }, []string{
			`cp1/pki/apiserver: it is not signed by the CA "Example ca"`, `w1/kubelet.conf: it does not trust the CA "Example ca"`,
		}},
		{"expired", of("cp1/pki/front-proxy-client", func(c *x509.Certificate) { c.NotAfter = simulated.Add(-time.Minute) }), []string{
			"cp1/pki/front-proxy-client: it expired on 2026-03-02 08:59 UTC",
		}},
		{"not yet", of("cp1/admin.conf", func(c *x509.Certificate) { c.NotBefore = simulated.Add(time.Hour) }), []string{"cp1/admin.conf: it is valid from 2026-03-02 10:00 UTC"}},
		{"no kubeconfig", put("w1/kubelet.conf", "kind: Pod"), []string{"w1/kubelet.conf: it is not a kubeconfig"}},
		{"no CA inside", put("w1/kubelet.conf", "kind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"+
			"clusters: [{name: k, cluster: {server: 'https://a:6443', certificate-authority-data: eA==}}]\n"+
			"users: [{name: u, user: {client-certificate-data: eA==, client-key-data: eA==}}]"), []string{"w1/kubelet.conf: its certificate-authority-data holds no certificate"}},
		{"paths", put("w1/kubelet.conf", "kind: Config\nusers: [{name: u, user: {client-key: /x}}]"), []string{"the certificates must be embedded"}},
	} {
		clear(h.files())
		maps.Copy(h.files(), good)
		c.spoil()
		v := blankHosts(h.config)
		v.ObservedAt = simulated
		_, diags := pipeline.Plan(v, planner.Plan{}, planner.Options{})
		show(t, diags...)
		var text strings.Builder
		for _, d := range diags {
			text.WriteString(d.Summary + ": " + d.Detail + "\n")
		}
		for _, w := range c.want {
			if !strings.Contains(text.String(), w) {
				t.Errorf("%s: %q is not in\n%s", c.name, w, text.String())
			}
		}
		if (len(c.want) > 0) != diags.HasErrors() || strings.Contains(text.String(), "PRIVATE") {
			t.Errorf("%s: %s", c.name, text.String())
		}
	}
}

// TestSuppliedKubeconfigWithOtherServerIsUsed checks that a supplied kubeconfig with another server than kubeadm's is reported,
// and used.
func TestSuppliedKubeconfigWithOtherServerIsUsed(t *testing.T) {
	t.Parallel()
	h := withoutKeys(t, 1, 1)
	conf := string(h.files()["w1/kubelet.conf"].Reveal())
	h.files()["w1/kubelet.conf"] = state.NewSecret([]byte(strings.Replace(conf, "https://api.example.com:6443", "https://10.0.0.11:6443", 1)))
	o := newOperator(t, places(h.config))
	_, diags := pipeline.Plan(o.observe(), planner.Plan{}, planner.Options{})
	wantFindings(t, diags, finding{diag.Warning, "Kubeconfig names another server", "main.hcl:1", `node.worker["w1"]`, []string{
		`Supplied kubeconfigs of node.worker["w1"] (10.0.0.21) name another server`, "w1/kubelet.conf: https://10.0.0.11:6443 instead of https://api.example.com:6443", "used as they are",
	}})
	o.must(o.apply())
	o.wantNothing()
}

// TestSuppliedCertificatesBootstrapContinuesAfterCrash runs TestBootstrapContinuesAfterCrash with supplied certificates.
func TestSuppliedCertificatesBootstrapContinuesAfterCrash(t *testing.T) {
	t.Parallel()
	crashAnywhere(t, newOperator(t, withoutKeys(t, 2, 1).config), 61)
}

func describeJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

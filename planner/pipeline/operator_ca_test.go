package pipeline_test

import (
	"encoding/json"
	"encoding/pem"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/phases/pki/pkitest"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/state"
)

// simulated is the time at which a simulated world begins.
var simulated = time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)

// givenCA returns a CA that the operator provides.
func givenCA(t *testing.T, name, algorithm string) config.GivenCA {
	t.Helper()
	ca := pkitest.NewCA(t, name, algorithm, simulated.Add(-time.Hour))
	return config.GivenCA{Certificate: string(ca.Certificate), Key: state.NewSecret(ca.Key)}
}

// withCAs returns a configuration with three CAs that the operator provides.
func withCAs(t *testing.T, planes, workers int, onHosts bool, algorithm string) *config.Config {
	t.Helper()
	cfg := cluster(planes, workers)
	p := &cfg.Clusters[0].Certificates
	for name, ca := range map[string]*config.GivenCA{"Example Kubernetes CA": &p.CA, "Example Proxy CA": &p.FrontProxyCA, "Example etcd CA": &p.EtcdCA} {
		*ca = givenCA(t, name, algorithm)
		ca.OnHosts = onHosts
	}
	return cfg
}

// files returns the paths below /etc/kubernetes on a host with this suffix.
func (o *operator) files(address, suffix string) []string {
	var out []string
	for line := range strings.Lines(o.world.Listing(address)) {
		for _, word := range strings.Fields(line) {
			if strings.HasPrefix(word, "/etc/kubernetes/") && strings.HasSuffix(word, suffix) {
				out = append(out, strings.TrimPrefix(word, "/etc/kubernetes/"))
			}
		}
	}
	return out
}

// TestOperatorCAKeysStayOutOfPlanAndState checks the life of a cluster with the operator's CAs: their keys are kept where the
// configuration says, and never in a plan or the state.
func TestOperatorCAKeysStayOutOfPlanAndState(t *testing.T) {
	t.Parallel()
	for algorithm, onHosts := range map[string]bool{"RSA": true, "ECDSA": false} {
		t.Run(algorithm, func(t *testing.T) {
			t.Parallel()
			o := newOperator(t, withCAs(t, 2, 1, onHosts, algorithm))
			before := o.listings()
			p, err := o.plan()
			o.must(err)
			o.wantNoKeys(p)
			o.must(o.carryOut())
			o.wantNothing()
			o.wantNoKeys(o.recorded)
			for _, n := range o.config.Nodes {
				o.wantIdentity(n, onHosts)
			}
			o.destroy = true
			o.must(o.apply())
			if after := o.listings(); after != before {
				t.Error("hosts differ from before")
			}
		})
	}
}

// wantNoKeys checks that nothing that is stored or shown contains the operator's keys.
func (o *operator) wantNoKeys(v any) {
	o.t.Helper()
	b, err := json.Marshal(v)
	o.must(err)
	for name, ca := range o.config.Clusters[0].Certificates.Given() {
		block, _ := pem.Decode(ca.Key.Reveal())
		for _, form := range []string{"PRIVATE KEY", string(block.Bytes), strings.Split(string(ca.Key.Reveal()), "\n")[1]} {
			if strings.Contains(string(b), form) {
				o.t.Errorf("the key of %s is in a %T", name, v)
			}
		}
	}
}

// wantIdentity checks that a node's CA files and its kubelet's credentials are those of kubeadm with or
// without the CA's key on the hosts.
func (o *operator) wantIdentity(n *config.Node, onHosts bool) {
	o.t.Helper()
	keys := o.files(n.Address, "ca.key")
	want := 0
	if onHosts && n.Role == config.ControlPlane {
		want = 3
	}
	if len(keys) != want {
		o.t.Errorf("%s has the CA keys %v", n.Address, keys)
	}
	conf := o.fleet.Reports[n.Target].Files["/etc/kubernetes/kubelet.conf"].Kubeconfig
	if conf == nil || (conf.Client != nil) == onHosts {
		o.t.Errorf("%s: kubelet.conf is %+v", n.Address, conf)
	}
}

// TestOperatorCAKeyOnHostsCompletesControlPlane checks that with the key on the hosts every control plane has all files of
// kubeadm, and the controller manager signs.
func TestOperatorCAKeyOnHostsCompletesControlPlane(t *testing.T) {
	t.Parallel()
	o := newOperator(t, withCAs(t, 2, 1, true, "ECDSA"))
	o.must(o.apply())
	for _, address := range []string{"10.0.0.11", "10.0.0.12"} {
		want := []string{"pki/ca.key", "pki/etcd/ca.key", "pki/front-proxy-ca.key"}
		if got := o.files(address, "ca.key"); !slices.Equal(got, want) {
			t.Errorf("%s has %v", address, got)
		}
	}
	if args := o.controllerArgs(); args["cluster-signing-key-file"] != "/etc/kubernetes/pki/ca.key" {
		t.Errorf("the controller manager has %v", args)
	}
}

func (o *operator) controllerArgs() map[string]string {
	for _, it := range o.recorded.Items {
		if strings.HasSuffix(it.Address.ID(), "kube-controller-manager.yaml") {
			out := map[string]string{}
			for _, a := range it.Attributes.Get("args").AsArgs() {
				out[a.Name] = a.Value
			}
			return out
		}
	}
	return nil
}

// TestExternalCANodesJoinWithoutTokens checks that no node bootstraps with a token where nothing in the cluster
// signs.
func TestExternalCANodesJoinWithoutTokens(t *testing.T) {
	t.Parallel()
	o := newOperator(t, withCAs(t, 2, 1, false, "ECDSA"))
	p, err := o.plan()
	o.must(err)
	for _, s := range p.Steps {
		for _, op := range s.Operations {
			switch op := op.(type) {
			case planner.CreateToken, planner.DeleteToken, planner.IssueCA:
				t.Errorf("%s: %s", s.ID, op.Summary())
			case planner.WriteKubeconfig:
				if op.Token != nil || op.CA.Operator == "" {
					t.Errorf("%s: %s by %+v", s.ID, op.Path, op.CA)
				}
			}
		}
	}
	o.must(o.carryOut())
	if args := o.controllerArgs(); args["cluster-signing-cert-file"] != "" || args["cluster-signing-key-file"] != "" {
		t.Errorf("the controller manager has %v", args)
	}
}

// TestExternalCARenewsDueCertificates checks that certificates that are due are reissued with the operator's key,
// including the kubelets' kubeconfigs, and that each kubelet uses its new one.
func TestExternalCARenewsDueCertificates(t *testing.T) {
	t.Parallel()
	o := newOperator(t, withCAs(t, 1, 1, false, "ECDSA"))
	o.must(o.apply())
	o.world.Advance(340 * 24 * time.Hour)
	p, err := o.plan()
	o.must(err)
	restarted := 0
	for _, s := range p.Steps {
		for _, op := range s.Operations {
			if u, ok := op.(planner.Unit); ok && u.Action == "restart" {
				restarted++
			}
		}
	}
	if restarted != 2 || !strings.Contains(describe(p), "kubelet.conf") || !strings.Contains(describe(p), "pki/apiserver ") {
		t.Errorf("%d kubelets restart in\n%s", restarted, describe(p))
	}
	o.must(o.carryOut())
	o.wantNothing()
	o.wantOwnFromKubeconfig()
	for _, e := range o.result.Plan.Certificates {
		if e.RenewedBy == planner.ByKubelet && e.Path == "/var/lib/kubelet/pki/kubelet-client-current.pem" {
			t.Errorf("%s on %s is renewed by the kubelet, for which no signer exists", e.Path, e.Host)
		}
	}
	o.world.Advance(300 * 24 * time.Hour)
	o.wantNothing()
}

// TestKubeletTakesRenewedCertificateFromKubeconfig checks that a kubelet that still uses its copy of a former certificate takes
// over the renewed one in its kubeconfig.
func TestKubeletTakesRenewedCertificateFromKubeconfig(t *testing.T) {
	t.Parallel()
	o := newOperator(t, withCAs(t, 1, 1, false, "ECDSA"))
	o.must(o.apply())
	o.wantOwnFromKubeconfig()
	o.world.Advance(340 * 24 * time.Hour)
	o.cutIn("w1/kubeconfig", "write_kubeconfig")
	p, err := o.plan()
	o.must(err)
	if got := describe(p); !strings.Contains(got, "stale_files") {
		t.Errorf("the old copy is not reported:\n%s", got)
	}
	o.must(o.carryOut())
	o.wantNothing()
	o.wantOwnFromKubeconfig()
}

// wantOwnFromKubeconfig checks that every kubelet uses the certificate in its kubeconfig.
func (o *operator) wantOwnFromKubeconfig() {
	o.t.Helper()
	_, err := o.plan()
	o.must(err)
	for _, n := range o.config.Nodes {
		files := o.fleet.Reports[n.Target].Files
		conf, own := files["/etc/kubernetes/kubelet.conf"].Kubeconfig, files["/var/lib/kubelet/pki/kubelet-client-current.pem"].Certificates
		if conf == nil || conf.Client == nil || len(own) == 0 || own[0].Serial != conf.Client.Serial {
			o.t.Errorf("%s: kubelet.conf has %+v, its kubelet %+v", n.Address, conf, own)
		}
	}
}

// TestOperatorCAChainIsWrittenAndRemoved checks that further certificates in a given CA's file are written to hosts, and
// removed, together with it.
func TestOperatorCAChainIsWrittenAndRemoved(t *testing.T) {
	t.Parallel()
	cfg := withCAs(t, 1, 1, false, "ECDSA")
	o := newOperator(t, cfg)
	o.must(o.apply())
	ca := &cfg.Clusters[0].Certificates.CA
	alone := ca.Certificate
	for _, text := range []string{alone + givenCA(t, "Root", "ECDSA").Certificate, alone + givenCA(t, "Other", "ECDSA").Certificate, alone} {
		ca.Certificate = text
		p, err := o.plan()
		o.must(err)
		if got := describe(p); strings.Count(got, "/etc/kubernetes/pki/ca (configuration changed)\n    chain") != 2 || len(p.Changes) != 2 {
			t.Errorf("the plan does not write the file to two hosts:\n%s", got)
		}
		o.must(o.carryOut())
		o.wantNothing()
		for _, n := range cfg.Nodes {
			if got := len(o.fleet.Reports[n.Target].Files["/etc/kubernetes/pki/ca.crt"].Certificates); got != strings.Count(text, "BEGIN") {
				t.Errorf("%s has %d certificates", n.Address, got)
			}
		}
	}
}

// TestExternalCANodesJoinAndLeave checks that nodes join and leave a running cluster with an external CA.
func TestExternalCANodesJoinAndLeave(t *testing.T) {
	t.Parallel()
	cfg := withCAs(t, 3, 2, false, "ECDSA")
	all := cfg.Nodes
	cfg.Nodes = []*config.Node{all[0], all[3]}
	o := newOperator(t, cfg)
	o.must(o.apply())
	cfg.Nodes = all
	o.must(o.apply())
	o.wantNothing()
	cfg.Nodes = all[1:4] // the founder and a worker leave
	o.must(o.apply())
	o.wantNothing()
	cfg.Nodes = all
	o.must(o.apply())
	o.wantNothing()
}

// TestExternalCABootstrapContinuesAfterCrash runs TestBootstrapContinuesAfterCrash with the operator's CAs.
func TestExternalCABootstrapContinuesAfterCrash(t *testing.T) {
	t.Parallel()
	for _, onHosts := range []bool{true, false} {
		crashAnywhere(t, newOperator(t, withCAs(t, 2, 1, onHosts, "ECDSA")), 61)
	}
}

// TestOperatorCAChangeIsRefused checks that a cluster keeps the CA with which it was bootstrapped, and its key where it
// is.
func TestOperatorCAChangeIsRefused(t *testing.T) {
	t.Parallel()
	usual := newOperator(t, withCAs(t, 1, 1, false, "ECDSA"))
	usual.must(usual.apply())
	for name, c := range map[string]struct {
		founded, later func(*config.Certificates)
		want           string
	}{
		"other CA":       {nil, func(p *config.Certificates) { p.CA = givenCA(t, "Other", "ECDSA") }, "Cluster CA differs from the configuration"},
		"other etcd":     {nil, func(p *config.Certificates) { p.EtcdCA = givenCA(t, "Other", "ECDSA") }, "Cluster CA differs from the configuration"},
		"no CA any more": {nil, func(p *config.Certificates) { p.CA = config.GivenCA{} }, "CA key is missing"},
		"key to hosts":   {nil, func(p *config.Certificates) { p.CA.OnHosts = true }, "CA key is missing"},
		"key from hosts": {func(p *config.Certificates) { p.CA.OnHosts = true }, func(p *config.Certificates) { p.CA.OnHosts = false }, "CA key is on a host"},
		"own to given":   {func(p *config.Certificates) { p.CA = config.GivenCA{} }, func(p *config.Certificates) { p.CA = givenCA(t, "Other", "ECDSA") }, "Cluster CA differs from the configuration"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := usual.copy(t)
			if c.founded != nil {
				o = newOperator(t, withCAs(t, 1, 1, false, "ECDSA"))
				c.founded(&o.config.Clusters[0].Certificates)
				o.must(o.apply())
			}
			c.later(&o.config.Clusters[0].Certificates)
			if _, err := o.planShown(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the plan is not refused with %q: %v", c.want, err)
			}
		})
	}
}

// TestOperatorCAValidityIsChecked checks that a CA that is not valid now is refused, and that one that expires soon is
// reported.
func TestOperatorCAValidityIsChecked(t *testing.T) {
	t.Parallel()
	cfg := withCAs(t, 1, 0, false, "ECDSA")
	for years, want := range map[int]string{-1: "CA certificate is not valid yet", 0: "", 10: "CA expires before its certificates", 11: "CA certificate has expired"} {
		v := blankHosts(cfg)
		v.ObservedAt = simulated.AddDate(years, 0, -1*years)
		_, diags := pipeline.Plan(v, planner.Plan{}, planner.Options{})
		var got []string
		show(t, diags...)
		for _, d := range diags {
			got = append(got, d.Summary)
		}
		if want == "" && len(got) > 0 || want != "" && (len(got) != 3 || got[0] != want) {
			t.Errorf("after %d years: %v, want %q of each of three", years, got, want)
		}
	}
}

// TestCAKeyLocationsCanDiffer checks a cluster that keeps each of its three CAs in a different way.
func TestCAKeyLocationsCanDiffer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		spoil    func(p *config.Certificates)
		supplied int
	}{
		{"the cluster's own", func(p *config.Certificates) { p.FrontProxyCA.OnHosts = true; p.CA = config.GivenCA{} }, 0},
		{"etcd's without key", func(p *config.Certificates) { p.CA.OnHosts = true; p.EtcdCA.Key = state.Secret{} }, 8},
		{"the cluster's without key", func(p *config.Certificates) { p.CA.Key = state.Secret{}; p.EtcdCA.OnHosts = true }, 14},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := withoutKeys(t, 2, 1)
			p := &h.config.Clusters[0].Certificates
			for block, ca := range map[string]*config.GivenCA{"ca": &p.CA, "front_proxy_ca": &p.FrontProxyCA, "etcd_ca": &p.EtcdCA} {
				ca.Key = state.NewSecret(h.cas["certificates."+block].Key)
			}
			c.spoil(p)
			clear(h.files())
			h.sign(simulated.AddDate(1, 0, 0), nil)
			if n := len(pki.Supplies(h.config, "prod")); n != c.supplied {
				t.Errorf("%d files have to be supplied, want %d", n, c.supplied)
			}
			o := newOperator(t, h.config)
			o.must(o.apply())
			o.wantNothing()
		})
	}
}

package pki

import (
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/keypair"
	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/provenance"
	"github.com/kubewright/kubewright/planner/resolve"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Supply is a certificate and its key, or a kubeconfig with both inside, that the operator supplies for
// a node because kubewright does not have the CA's key.
type Supply struct {
	// Name is the path below the folder certificates.supplied: cp1/admin.conf, or for a certificate,
	// without .crt and .key, cp1/pki/apiserver.
	Name string
	// CA is the block of the CA that signs: certificates.ca …
	CA string
	// Certificate describes the required certificate, or the one inside the kubeconfig.
	Certificate kubeadm.Certificate
	// Kubeconfig is nil for a certificate.
	Kubeconfig *kubeadm.Kubeconfig
}

// Supplies lists the supplies that the bootstrap of a cluster on its first control plane needs. Nodes
// need a name in the configuration.
func Supplies(cfg *config.Config, label string) []Supply {
	v := resolve.NewFleet(&topology.Fleet{Config: cfg}).WithSituations(func(c *topology.Cluster) topology.Situation {
		if planes := c.ControlPlanes(); len(planes) > 0 {
			return c.WithPrimary(planes[0].Target, true)
		}
		return c.Situation
	})
	var out []Supply
	for _, c := range v.Clusters {
		if c.Label == label && c.Founding {
			for _, n := range c.Nodes {
				out = append(out, supplies(n)...)
			}
		}
	}
	return out
}

// supplies lists the supplies that a node needs.
func supplies(n *topology.Node) []Supply {
	var out []Supply
	for _, leaf := range kubeadm.Leaves(n.Input()) {
		if s, ok := SuppliedLeaf(n, leaf); ok {
			out = append(out, s)
		}
	}
	for _, k := range kubeconfigSpecs(n) {
		if s, ok := suppliedConf(n, k); ok {
			out = append(out, s)
		}
	}
	return out
}

// SuppliedLeaf returns the supply for a leaf certificate and reports whether it has to be supplied.
func SuppliedLeaf(n *topology.Node, leaf kubeadm.Certificate) (Supply, bool) {
	ca := n.Cluster.Authority(leaf.CA)
	if host := n.Facts().Hostname; leaf.Name == kubeadm.KubeletServing && host != n.NodeName {
		// It is supplied before the host is observed, and API servers do not call it by that name.
		leaf.DNSNames = slices.DeleteFunc(slices.Clone(leaf.DNSNames), func(name string) bool { return name == host })
	}
	name := n.NodeName + "/pki" + strings.TrimPrefix(leaf.Base, n.Cluster.Certificates.Dir)
	return Supply{Name: name, CA: ca.Block, Certificate: leaf}, ca.KeyLocation == topology.Keyless
}

// suppliedConf returns the supply for a kubeconfig and reports whether it has to be supplied.
func suppliedConf(n *topology.Node, k kubeadm.Kubeconfig) (Supply, bool) {
	ca := n.Cluster.Authority(n.Cluster.Certificates.Dir + "/ca")
	client := kubeadm.Certificate{
		Name: k.User, CA: ca.Base, CommonName: k.CommonName, Organizations: k.Organizations, Usages: []string{"client auth"},
		Algorithm: n.Cluster.Certificates.Algorithm, Validity: n.Cluster.Certificates.Validity,
	}
	name := n.NodeName + strings.TrimPrefix(k.Path, "/etc/kubernetes")
	return Supply{Name: name, CA: ca.Block, Certificate: client, Kubeconfig: &k}, ca.KeyLocation == topology.Keyless
}

// files returns the names of the files of a supply. The key comes first, since an existing certificate
// means that the pair is complete.
func (s Supply) files() []string {
	if s.Kubeconfig != nil {
		return []string{s.Name}
	}
	return []string{s.Name + ".key", s.Name + ".crt"}
}

// describe returns what the signer has to know.
func (s Supply) describe() string {
	c := s.Certificate
	parts := []string{"CN=" + c.CommonName}
	for _, o := range c.Organizations {
		parts = append(parts, "O="+o)
	}
	parts = append(parts, "for "+strings.Join(c.ExtendedUsages(), " and "))
	if names := slices.Concat(c.DNSNames, c.IPAddresses); len(names) > 0 {
		parts = append(parts, "names "+strings.Join(names, ", "))
	}
	if s.Kubeconfig != nil {
		parts = append(parts, "server "+s.Kubeconfig.Server)
	}
	return strings.Join(parts, ", ")
}

// bring returns the files of a supply in their place on the host. A certificate is accompanied by its
// CA.
func bring(n *topology.Node, s Supply) []planner.SecretFile {
	c := n.Cluster
	if s.Kubeconfig != nil {
		return []planner.SecretFile{BringFile(c, s.Kubeconfig.Path, KeyMode, config.SuppliedPath(s.Name))}
	}
	ca := c.Authority(s.Certificate.CA)
	return []planner.SecretFile{
		BringFile(c, ca.Base+".crt", "0644", ca.Block+".certificate"),
		BringFile(c, s.Certificate.Base+".key", KeyMode, config.SuppliedPath(s.Name+".key")),
		BringFile(c, s.Certificate.Base+".crt", "0644", config.SuppliedPath(s.Name+".crt")),
	}
}

// found is the content of a supply in the folder.
type found struct {
	// chain is the certificate followed by its intermediates.
	chain []*x509.Certificate
	key   []byte
	conf  *suppliedKubeconfig
}

// read reads a supply from the folder. Its error quotes nothing of a key.
func read(c *topology.Cluster, s Supply) (*found, error) {
	files := c.Certificates.SuppliedFiles
	var missing []string
	for _, name := range s.files() {
		if files[name].IsZero() {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("there is no %s (%s)", strings.Join(missing, " and no "), s.describe())
	}
	f := &found{}
	certificate := files[s.Name+".crt"].Reveal()
	if s.Kubeconfig != nil {
		var err error
		if f.conf, err = readKubeconfig(files[s.Name].Reveal()); err != nil {
			return nil, err
		}
		certificate, f.key = f.conf.certificate, f.conf.key
	} else {
		f.key = files[s.Name+".key"].Reveal()
	}
	var err error
	f.chain, err = keypair.ParseCertificates(certificate)
	return f, err
}

// clusterCheck lists what is wrong with a supply in the folder.
func clusterCheck(c *topology.Cluster, s Supply) []string {
	f, err := read(c, s)
	if err != nil {
		return []string{err.Error()}
	}
	ca, leaf := c.Authority(s.Certificate.CA), f.chain[0]
	var out []string
	if err := keypair.KeyBelongs(leaf, f.key); err != nil {
		out = append(out, fmt.Sprintf("its key: %s", err))
	}
	out = append(out, misfits(c, s, state.CertificateInfoOf(leaf))...)
	if !chains(f.chain, ca.X509) {
		out = append(out, fmt.Sprintf("it is not signed by the CA %q of the configuration", ca.CommonName))
	}
	if f.conf != nil && !slices.ContainsFunc(f.conf.cas, ca.X509.Equal) {
		out = append(out, fmt.Sprintf("it does not trust the CA %q of the configuration", ca.CommonName))
	}
	return append(out, outdated(c, state.CertificateInfoOf(leaf))...)
}

// chains reports whether the CA has signed a certificate, directly or through intermediates in the same
// file. It does not check validity periods.
func chains(chain []*x509.Certificate, ca *x509.Certificate) bool {
	for range chain {
		if chain[0].CheckSignatureFrom(ca) == nil {
			return true
		}
		i := slices.IndexFunc(chain[1:], func(c *x509.Certificate) bool { return chain[0].CheckSignatureFrom(c) == nil })
		if i < 0 {
			return false
		}
		chain = chain[1+i:]
	}
	return false
}

// checkSupplies compares the supplied files of all nodes with what each needs, and warns of those that
// expire soon: kubewright cannot renew them.
func checkSupplies(c *topology.Cluster) diag.Diagnostics {
	var diags diag.Diagnostics
	var ending []string
	at := Place(c, "certificates.supplied")
	for _, n := range c.Nodes {
		if n.NodeName == "" {
			continue // a host that was not observed
		}
		var r suppliesReport
		for _, s := range supplies(n) {
			r.add(n, s)
		}
		ending = append(ending, r.ending...)
		if len(r.wrong) > 0 {
			diags = append(diags, diag.Errorf("Supplied certificates do not fit", "The folder %s does not hold what %s (%s) needs:\n\n%s\n\n"+
				"To do: have these files issued by the holder of the CA's key, and put them there.",
				config.Quote(c.Certificates.Supplied), n.Target, n.Address, strings.Join(r.wrong, "\n")).At(at).For(n.Target))
		}
		if len(r.servers) > 0 {
			diags = append(diags, diag.Warningf("Kubeconfig names another server", "Supplied kubeconfigs of %s (%s) name another server than kubeadm would:\n\n"+
				"%s\n\nThey are used as they are. If this is not intended, have them reissued with the expected server.",
				n.Target, n.Address, strings.Join(r.servers, "\n")).At(at).For(n.Target))
		}
	}
	if len(ending) > 0 {
		diags = append(diags, diag.Warningf("Supplied certificates expire soon", "kubewright does not renew these, because it does not have the CA's key:\n\n"+
			"%s\n\nTo do: have them reissued, put them into %s under the same names, and run %s.",
			strings.Join(ending, "\n"), config.Quote(c.Certificates.Supplied), remedy.Apply).At(at).For(c.Target))
	}
	return diags
}

// suppliesReport collects the messages about the supplies of a node, as lines.
type suppliesReport struct{ wrong, ending, servers []string }

// add checks one supply.
func (r *suppliesReport) add(n *topology.Node, s Supply) {
	c := n.Cluster
	k, keeps := kept(n, s)
	check := func(s Supply) []string { return clusterCheck(c, s) }
	if keeps {
		check = func(s Supply) []string { return checkKept(c, s, k) }
	}
	if wrong := check(s); len(wrong) > 0 {
		r.line(&r.wrong, s, wrong...)
		return
	}
	if !keeps {
		f, _ := read(c, s)
		if k.CertificateInfo = state.CertificateInfoOf(f.chain[0]); f.conf != nil {
			k.Conf = &state.KubeconfigInfo{Server: f.conf.server}
		}
	}
	if c.Fleet.ObservedAt.Add(c.Certificates.RenewBefore).After(k.NotAfter) {
		r.line(&r.ending, s, "until "+Date(k.NotAfter))
	}
	if k.Conf != nil && k.Conf.Server != s.Kubeconfig.Server {
		r.line(&r.servers, s, k.Conf.Server+" instead of "+s.Kubeconfig.Server)
	}
}

func (r *suppliesReport) line(to *[]string, s Supply, said ...string) {
	for _, text := range said {
		*to = append(*to, fmt.Sprintf("  %s: %s", s.Name, text))
	}
}

// identity returns the attributes that identify a supplied certificate on a host.
func identity(n *topology.Node, s Supply) map[string]any {
	info := state.CertificateInfo{CommonName: s.Certificate.CommonName}
	if k, ok := kept(n, s); ok {
		info = k.CertificateInfo
	} else if f, err := read(n.Cluster, s); err == nil {
		info = state.CertificateInfoOf(f.chain[0])
	} else {
		return map[string]any{"common_name": info.CommonName}
	}
	return map[string]any{"common_name": info.CommonName, "serial": info.Serial, "not_after": RFC3339(info.NotAfter)}
}

// suppliedItem returns the desired certificate of a supply.
func suppliedItem(n *topology.Node, s Supply) state.Item {
	it := state.Item{Address: topology.ItemAddress(n.Target, topology.CertsPhase, "certificate", s.Certificate.Base), Kind: state.KindCertificate}
	if !topology.Observed(n.Cluster.Fleet) {
		return it
	}
	it.Partial, it.Attributes = true, state.FromGo(identity(n, s))
	it.Origin = map[string]state.Source{"": provenance.ClusterOrigin(n.Cluster, "certificates.supplied")}
	return withKeyAccess(it)
}

// suppliedConfItem returns the desired kubeconfig of a supply.
func suppliedConfItem(n *topology.Node, s Supply) state.Item {
	it := state.Item{Address: topology.ItemAddress(n.Target, topology.KubeconfigPhase, "file", s.Kubeconfig.Path), Kind: state.KindKubeconfig}
	if !topology.Observed(n.Cluster.Fleet) {
		return it
	}
	m := identity(n, s)
	m["mode"], m["owner"], m["ca"] = KeyMode, topology.Root, caDigest(n.Cluster, s.Certificate.CA)
	m["server"] = s.Kubeconfig.Server
	if serial := GivenSerial(n.Cluster); serial != "" {
		m[planner.CASerial] = serial
	}
	if k, ok := kept(n, s); ok {
		asItIs(k, m)
	} else if f, err := read(n.Cluster, s); err == nil {
		m["server"], m["ca"] = f.conf.server, state.KeyDigest(f.conf.cas[0])
	}
	it.Attributes, it.Origin = state.FromGo(m), map[string]state.Source{"": provenance.ClusterOrigin(n.Cluster, "certificates.supplied")}
	return it
}

// RFC3339 formats a time as items record it.
func RFC3339(t time.Time) string { return t.UTC().Format(time.RFC3339) }

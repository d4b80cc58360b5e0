package phases

import (
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// Supply is what the operator supplies for a node where nobody here has a CA's
// key: a certificate and its key, or a kubeconfig with both inside.
type Supply struct {
	// Name is the path below the folder certificates.supplied: cp1/admin.conf,
	// and of a certificate without .crt and .key: cp1/pki/apiserver.
	Name string
	// CA is the block of the CA that signs: certificates.ca …
	CA string
	// Certificate is what the certificate, or the kubeconfig's, is to be.
	Certificate kubeadm.Certificate
	// Kubeconfig is nil for a certificate.
	Kubeconfig *kubeadm.Kubeconfig
}

// Supplies lists what has to be supplied for a cluster that is to be founded on
// its first control plane. Nodes have to be named.
func Supplies(cfg *config.Config, label string) []Supply {
	v := &View{Config: cfg}
	v.resolve()
	var out []Supply
	for _, c := range v.clusters {
		if planes := c.controlPlanes(); c.Label == label && len(planes) > 0 {
			c.founding, c.seat = true, planes[0].target
			for _, n := range c.nodes {
				out = append(out, n.supplies()...)
			}
		}
	}
	return out
}

// supplies lists what has to be supplied for a node.
func (n *node) supplies() []Supply {
	var out []Supply
	if n.isControlPlane() {
		for _, leaf := range kubeadm.Leaves(n.input()) {
			if s, ok := n.suppliedLeaf(leaf); ok {
				out = append(out, s)
			}
		}
	}
	for _, k := range n.kubeconfigSpecs() {
		if s, ok := n.suppliedConf(k); ok {
			out = append(out, s)
		}
	}
	return out
}

// suppliedLeaf is a leaf that nobody here can issue.
func (n *node) suppliedLeaf(leaf kubeadm.Certificate) (Supply, bool) {
	ca := n.cluster.authority(leaf.CA)
	name := n.name + "/pki" + strings.TrimPrefix(leaf.Base, n.cluster.Certificates.Dir)
	return Supply{Name: name, CA: ca.block, Certificate: leaf}, ca.custody == keyless
}

// suppliedConf is a kubeconfig that nobody here can issue.
func (n *node) suppliedConf(k kubeadm.Kubeconfig) (Supply, bool) {
	ca := n.cluster.authority(n.cluster.Certificates.Dir + "/ca")
	client := kubeadm.Certificate{
		Name: k.User, CA: ca.Base, CommonName: k.CommonName, Organizations: k.Organizations, Usages: []string{"client auth"},
		Algorithm: n.cluster.Certificates.Algorithm, Validity: n.cluster.Certificates.Validity,
	}
	name := n.name + strings.TrimPrefix(k.Path, "/etc/kubernetes")
	return Supply{Name: name, CA: ca.block, Certificate: client, Kubeconfig: &k}, ca.custody == keyless
}

// files are the names of the files that a supply consists of: the key first,
// since a certificate that exists means that the pair is whole.
func (s Supply) files() []string {
	if s.Kubeconfig != nil {
		return []string{s.Name}
	}
	return []string{s.Name + ".key", s.Name + ".crt"}
}

// describe is what whoever signs has to know.
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

// bring are the files of a supply, as they are to lie on the host. The CA goes
// with a certificate: who signed it shows beside it.
func (n *node) bring(s Supply) []planner.SecretFile {
	c := n.cluster
	if s.Kubeconfig != nil {
		return []planner.SecretFile{c.bring(s.Kubeconfig.Path, keyMode, config.SuppliedPath(s.Name))}
	}
	ca := c.authority(s.Certificate.CA)
	return []planner.SecretFile{
		c.bring(ca.Base+".crt", "0644", ca.block+".certificate"),
		c.bring(s.Certificate.Base+".key", keyMode, config.SuppliedPath(s.Name+".key")),
		c.bring(s.Certificate.Base+".crt", "0644", config.SuppliedPath(s.Name+".crt")),
	}
}

// found is what of a supply is in the folder.
type found struct {
	// chain is the certificate and those behind it.
	chain []*x509.Certificate
	key   []byte
	conf  *suppliedKubeconfig
}

// read reads a supply out of the folder. Its error holds nothing of a key.
func (c *cluster) read(s Supply) (*found, error) {
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
	f.chain, err = config.ParseCertificates(certificate)
	return f, err
}

// check lists what is wrong with a supply.
func (c *cluster) check(s Supply) []string {
	f, err := c.read(s)
	if err != nil {
		return []string{err.Error()}
	}
	ca, leaf := c.authority(s.Certificate.CA), f.chain[0]
	var out []string
	if err := config.KeyBelongs(leaf, f.key); err != nil {
		out = append(out, fmt.Sprintf("its key: %s", err))
	}
	out = append(out, c.misfits(s, state.CertificateInfoOf(leaf))...)
	if !chains(f.chain, ca.certificate) {
		out = append(out, fmt.Sprintf("it is not signed by the CA %q that the configuration gives", ca.CommonName))
	}
	if f.conf != nil && !slices.ContainsFunc(f.conf.cas, ca.certificate.Equal) {
		out = append(out, fmt.Sprintf("it does not trust the CA %q that the configuration gives", ca.CommonName))
	}
	return append(out, c.outdated(state.CertificateInfoOf(leaf))...)
}

// chains tells that a certificate is signed by the CA, or by one of those that
// came with it which is. When each is valid is not asked here.
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

// checkSupplies holds the supplied files of all nodes against what each needs,
// and tells of those that end soon: nobody here can renew them.
func (c *cluster) checkSupplies() diag.Diagnostics {
	var diags diag.Diagnostics
	var ending []string
	at := c.place("certificates.supplied")
	for _, n := range c.nodes {
		if n.name == "" {
			continue // a host that was not seen
		}
		var r suppliesReport
		for _, s := range n.supplies() {
			r.add(n, s)
		}
		ending = append(ending, r.ending...)
		if len(r.wrong) > 0 {
			diags = append(diags, diag.Errorf("Supplied certificates do not fit", "What the folder %s has for %s (%s) is not what the node needs. Nothing is changed on any host.\n\n%s\n\n"+
				"To do: have these files issued by whoever holds the CA's key, and put them there.",
				config.Quote(c.Certificates.Supplied), n.target, n.Address, strings.Join(r.wrong, "\n")).At(at).For(n.target))
		}
		if len(r.servers) > 0 {
			diags = append(diags, diag.Warningf("Kubeconfig names another server", "Supplied kubeconfigs of %s (%s) name another server than kubeadm would:\n\n%s\n\n"+
				"They are used as they are. Where that is not meant, have them issued with the server that is missed here.",
				n.target, n.Address, strings.Join(r.servers, "\n")).At(at).For(n.target))
		}
	}
	if len(ending) > 0 {
		diags = append(diags, diag.Warningf("Supplied certificates end soon", "These are not renewed by kubewright, which does not have the CA's key:\n\n%s\n\n"+
			"To do: have them issued anew, put them into %s under the same names, and run kubewright apply.",
			strings.Join(ending, "\n"), config.Quote(c.Certificates.Supplied)).At(at).For(c.target))
	}
	return diags
}

// suppliesReport is what is to be said of the supplies of a node, in lines.
type suppliesReport struct{ wrong, ending, servers []string }

// add looks at one supply.
func (r *suppliesReport) add(n *node, s Supply) {
	c := n.cluster
	k, keeps := n.kept(s)
	check := c.check
	if keeps {
		check = func(s Supply) []string { return c.checkKept(s, k) }
	}
	if wrong := check(s); len(wrong) > 0 {
		r.line(&r.wrong, s, wrong...)
		return
	}
	if !keeps {
		f, _ := c.read(s)
		if k.CertificateInfo = state.CertificateInfoOf(f.chain[0]); f.conf != nil {
			k.conf = &state.KubeconfigInfo{Server: f.conf.server}
		}
	}
	if c.view.ObservedAt.Add(c.Certificates.RenewBefore).After(k.NotAfter) {
		r.line(&r.ending, s, "until "+date(k.NotAfter))
	}
	if k.conf != nil && k.conf.Server != s.Kubeconfig.Server {
		r.line(&r.servers, s, k.conf.Server+" instead of "+s.Kubeconfig.Server)
	}
}

func (r *suppliesReport) line(to *[]string, s Supply, said ...string) {
	for _, text := range said {
		*to = append(*to, fmt.Sprintf("  %s: %s", s.Name, text))
	}
}

// identity are the attributes by which a supplied certificate is known on a host.
func (n *node) identity(s Supply) map[string]any {
	info := state.CertificateInfo{CommonName: s.Certificate.CommonName}
	if k, ok := n.kept(s); ok {
		info = k.CertificateInfo
	} else if f, err := n.cluster.read(s); err == nil {
		info = state.CertificateInfoOf(f.chain[0])
	} else {
		return map[string]any{"common_name": info.CommonName}
	}
	return map[string]any{"common_name": info.CommonName, "serial": info.Serial, "not_after": rfc3339(info.NotAfter)}
}

// suppliedItem is the desired certificate of a supply.
func (n *node) suppliedItem(s Supply) state.Item {
	it := state.Item{Address: item(n.target, certsPhase, "certificate", s.Certificate.Base), Kind: state.KindCertificate}
	if n.cluster.view.pathsOnly {
		return it
	}
	it.Partial, it.Attributes = true, state.FromGo(n.identity(s))
	it.Origin = map[string]state.Source{"": n.cluster.origin("certificates.supplied")}
	return withKeyAccess(it)
}

// suppliedConfItem is the desired kubeconfig of a supply.
func (n *node) suppliedConfItem(s Supply) state.Item {
	it := state.Item{Address: item(n.target, kubeconfigPhase, "file", s.Kubeconfig.Path), Kind: state.KindKubeconfig}
	if n.cluster.view.pathsOnly {
		return it
	}
	m := n.identity(s)
	m["mode"], m["owner"], m["ca"] = keyMode, root, n.cluster.caDigest(s.Certificate.CA)
	m["server"] = s.Kubeconfig.Server
	if serial := n.cluster.givenSerial(); serial != "" {
		m[planner.CASerial] = serial
	}
	if k, ok := n.kept(s); ok {
		k.asItIs(m)
	} else if f, err := n.cluster.read(s); err == nil {
		m["server"], m["ca"] = f.conf.server, state.KeyDigest(f.conf.cas[0])
	}
	it.Attributes, it.Origin = state.FromGo(m), map[string]state.Source{"": n.cluster.origin("certificates.supplied")}
	return it
}

// rfc3339 is a moment as items have it.
func rfc3339(t time.Time) string { return t.UTC().Format(time.RFC3339) }

package phases

import (
	"crypto/x509"
	"fmt"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// custody says who holds a CA's key, and so who can sign below it.
type custody int

const (
	// made: kubewright makes the CA. Its key is on the control planes.
	made custody = iota
	// onHosts: the CA is the operator's and its key is brought to the control planes.
	onHosts
	// withOperator: the key stays with the operator, and the performer signs with it.
	withOperator
	// keyless: nobody here has the key. What it signed is supplied.
	keyless
)

// authority is one of a cluster's CAs, and what the configuration says of it.
type authority struct {
	kubeadm.Certificate
	custody custody
	// block is its block below certificates: ca, front_proxy_ca, etcd_ca.
	block string
	// certificate is the operator's; nil for a CA that kubewright makes.
	certificate *x509.Certificate
	// chain are the serials of what is given behind it.
	chain []string
}

// caBlocks are the blocks of the CAs by kubeadm's names of them.
var caBlocks = map[string]string{"ca": "ca", "front-proxy-ca": "front_proxy_ca", "etcd-ca": "etcd_ca"}

// authoritiesOf are the cluster's CAs in kubeadm's order.
func authoritiesOf(c *config.Cluster) []authority {
	given := c.Certificates.Given()
	var out []authority
	for _, ca := range kubeadm.CAs(kubeadm.Input{Cluster: c}) {
		a := authority{Certificate: ca, block: "certificates." + caBlocks[ca.Name]}
		if g, ok := given[caBlocks[ca.Name]]; ok {
			a.take(g)
		}
		out = append(out, a)
	}
	return out
}

// take makes the authority the operator's. Its certificate was validated before.
func (a *authority) take(g config.GivenCA) {
	certs, _ := config.ParseCertificates([]byte(g.Certificate))
	if len(certs) > 0 {
		a.certificate, a.chain = certs[0], chainOf(certs)
	}
	switch {
	case g.OnHosts:
		a.custody = onHosts
	case g.Key.IsZero():
		a.custody = keyless
	default:
		a.custody = withOperator
	}
	if a.certificate == nil {
		return
	}
	info := state.CertificateInfoOf(a.certificate)
	a.CommonName, a.Organizations, a.DNSNames, a.IPAddresses = info.CommonName, info.Organizations, info.DNSNames, info.IPAddresses
	a.Usages, a.Algorithm = info.Usages, info.Algorithm
}

// chainOf are the serials of the certificates behind the first.
func chainOf(certs []*x509.Certificate) []string {
	var out []string
	for _, c := range certs[1:] {
		out = append(out, state.CertificateInfoOf(c).Serial)
	}
	return out
}

// authority is the CA with the base path.
func (c *cluster) authority(base string) authority {
	for _, a := range c.authorities {
		if a.Base == base {
			return a
		}
	}
	panic("internal error: there is no CA " + base)
}

// keyOnHosts tells that the CA's key lies on the control planes.
func (a authority) keyOnHosts() bool { return a.custody == made || a.custody == onHosts }

// caDigest is the identity of a CA: as given, as seen on the seat, or "" for
// one that is to be made.
func (c *cluster) caDigest(base string) string {
	if a := c.authority(base); a.certificate != nil && c.rotation(base) == nil {
		return state.KeyDigest(a.certificate)
	}
	return c.cas[base]
}

// givenSerial tells the operator's certificate of the cluster's CA from others for the same
// key; empty for a CA of ours, and while it is rotated.
func (c *cluster) givenSerial() string {
	a := c.authority(c.caBase())
	if a.certificate == nil || c.rotation(a.Base) != nil {
		return ""
	}
	return state.CertificateInfoOf(a.certificate).Serial
}

// trusting adds to the attributes of what trusts the cluster's CA by which certificate.
func (c *cluster) trusting(attrs state.Value) state.Value {
	if serial := c.givenSerial(); serial != "" {
		return with(attrs, planner.CASerial, serial)
	}
	return attrs
}

// signedBy is the identity of the CA for an attribute: pending while the CA is to be made.
func (c *cluster) signedBy(base string) state.Value {
	if digest := c.caDigest(base); digest != "" {
		return state.String(digest)
	}
	return state.PendingValue(step(c.seat, certsPhase).String(), base)
}

// signer is the CA as the performer finds its key: on the seat, or the operator's.
func (c *cluster) signer(base string) planner.Signer {
	a := c.authority(base)
	s := planner.Signer{Name: a.CAName, Base: base}
	if a.custody == withOperator {
		s.Operator = c.Reference(a.block)
	} else {
		s.On = c.seat
	}
	return s
}

// bring is the file of a value of the configuration.
func (c *cluster) bring(path, mode, field string) planner.SecretFile {
	return planner.SecretFile{Path: path, Mode: mode, Owner: root, Source: c.Reference(field)}
}

// externalCA tells that no key of the cluster's CA lies on the control planes,
// so that nothing in the cluster signs kubelets' certificates.
func (c *cluster) externalCA() bool {
	return !c.authority(c.Certificates.Dir + "/ca").keyOnHosts()
}

// checkAuthorities checks the CAs of all clusters.
func (v *View) checkAuthorities() diag.Diagnostics {
	var diags diag.Diagnostics
	for _, c := range v.clusters {
		if c.disowned {
			continue
		}
		diags = append(diags, c.checkAuthorities()...)
		diags = append(diags, c.checkSupplies()...)
		diags = append(diags, c.checkClient()...)
	}
	return diags
}

// checkAuthorities holds the operator's CAs against what is on the hosts: a
// living cluster keeps its CAs, and their keys where they are.
func (c *cluster) checkAuthorities() diag.Diagnostics {
	diags := c.refuseLostCAs()
	for _, a := range c.authorities {
		diags = append(diags, c.checkPeriod(a)...)
		for _, n := range c.nodes {
			if n.report == nil || n.report.Marks == nil {
				continue // a host that is not ours is refused for what it holds
			}
			if d := n.checkAuthority(a); d != nil {
				diags = append(diags, d)
			}
		}
	}
	return diags
}

func (n *node) checkAuthority(a authority) *diag.Diagnostic {
	certs, c := n.report.Files[a.Base+".crt"].Certificates, n.cluster
	at := c.place(a.block)
	if len(certs) == 0 {
		return nil
	}
	switch {
	case c.rotation(a.Base) != nil:
		return nil
	case a.certificate != nil && certs[0].KeyDigest != state.KeyDigest(a.certificate):
		return diag.Errorf("Cluster has another CA", "%s (%s) has the CA %q in %s.crt (%s), and the configuration gives %q (%s). "+
			"Nothing is changed. %s",
			n.target, n.Address, certs[0].CommonName, a.Base, short(certs[0].KeyDigest), a.CommonName, short(state.KeyDigest(a.certificate)), c.toAnother(a)).At(at).For(n.target)
	case !n.isControlPlane():
		return nil
	case a.keyOnHosts() && keyFault(n.report, a.Base+".key") != "" && n.target == c.seat:
		return diag.Errorf("CA key is missing", "%s (%s) has %s.crt and %s, so that nothing can be signed there. Nothing is changed. "+
			"If the key was lost, put it back. If the CA is yours, give it in the block %s, as it was when the cluster was founded.",
			n.target, n.Address, a.Base, n.hasNo(a.Base+".key"), a.block).At(at).For(n.target)
	case !a.keyOnHosts() && n.report.Files[a.Base+".key"].Exists:
		return diag.Errorf("CA key is on a host", "%s (%s) has %s.key, and the configuration says that this key stays with you. Nothing is changed: "+
			"kubelets that renewed their certificates by it would be left without one. Write on_hosts = true in the block %s; "+
			"if the file was put there by hand, delete it.", n.target, n.Address, a.Base, a.block).At(at).For(n.target)
	}
	return nil
}

// toAnother says how a living cluster gets another CA of the operator's.
func (c *cluster) toAnother(a authority) string {
	if a.custody == onHosts {
		return fmt.Sprintf("If it is to be the cluster's new CA, ask for it: everybody trusts both then, before the new one signs and the old one goes:\n\n  kubewright apply -%s=%s\n\n"+
			"Otherwise give the CA that the cluster has.", ReplaceFlag, Rotation{c.target, a.Name})
	}
	return "A living cluster keeps a CA whose key is not on the control planes: to be rotated, old and new one have to sign there. " +
		"Give the CA with which the cluster was founded, with the same key if its certificate is issued anew, or destroy the cluster first."
}

// checkPeriod refuses a CA that is not valid now, and warns of one that ends
// before what is signed by it.
func (c *cluster) checkPeriod(a authority) diag.Diagnostics {
	now := c.view.ObservedAt
	if now.IsZero() {
		return nil
	}
	if a.certificate == nil {
		return c.checkMadePeriod(a, now)
	}
	at, from, to := c.place(a.block+".certificate"), a.certificate.NotBefore, a.certificate.NotAfter
	switch {
	case now.After(to):
		return diag.Diagnostics{diag.Errorf("CA certificate has expired", "The CA %q was valid until %s. Nothing below it is trusted any more. "+
			"Have its certificate issued anew for the same key, and give that.", a.CommonName, date(to)).At(at).For(c.target)}
	case now.Before(from):
		return diag.Diagnostics{diag.Errorf("CA certificate is not valid yet", "The CA %q is valid from %s. Correct the clock of this machine, "+
			"or wait until then.", a.CommonName, date(from)).At(at).For(c.target)}
	case a.custody != keyless && now.Add(c.Certificates.Validity).After(to):
		return diag.Diagnostics{diag.Warningf("CA ends before its certificates", "The CA %q is valid until %s, and certificates are issued for %s: "+
			"from then on they are not trusted. Have the CA's certificate issued anew for the same key before that.",
			a.CommonName, date(to), brief(c.Certificates.Validity)).At(at).For(c.target)}
	}
	return nil
}

// checkMadePeriod is checkPeriod of a CA that kubewright has made. It is rotated
// when somebody asks for it: all else would be a surprise.
func (c *cluster) checkMadePeriod(a authority, now time.Time) diag.Diagnostics {
	ca, at := c.present(a), c.place("certificates.ca_validity")
	switch {
	case ca == nil: // it is still to be made
	case now.After(ca.NotAfter):
		if d := c.checkEnded(a, *ca); d != nil {
			return diag.Diagnostics{d}
		}
	case now.Add(c.Certificates.Validity).After(ca.NotAfter):
		return diag.Diagnostics{diag.Warningf("CA ends before its certificates", "The CA %q (%s.crt) is valid until %s, and certificates are issued for %s: "+
			"from then on they are not trusted. Rotate it before that:\n\n  kubewright apply -%s=%s",
			ca.CommonName, a.Base, date(ca.NotAfter), brief(c.Certificates.Validity), ReplaceFlag, Rotation{c.target, a.Name}).At(at).For(c.target)}
	}
	return nil
}

// date is a moment for a reader.
func date(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") }

// registered tells that the node runs in the cluster as far as can be seen: a
// node that did not bootstrap has no certificate that would show it.
func (n *node) registered() bool {
	if !n.report.Files[kubeletConf].Exists || !n.report.Files[kubeletConfig].Exists || n.report.Units[kubeletUnit].Active != "active" {
		return false
	}
	if n.cluster.report == nil {
		return true
	}
	_, ok := n.cluster.report.Nodes[n.name]
	return ok
}

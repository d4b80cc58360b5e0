package pki

import (
	"time"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// caDigest returns the identity of a CA: of the given one, of the one observed on the primary, or ""
// for one that is still to be created.
func caDigest(c *topology.Cluster, base string) string {
	if a := c.Authority(base); a.X509 != nil && c.Rotation(base) == nil {
		return state.KeyDigest(a.X509)
	}
	return c.Cas[base]
}

// GivenSerial returns the serial of the CA certificate that the configuration gives for the cluster,
// which distinguishes it from other certificates for the same key. It is empty for a CA of ours, and
// during its rotation.
func GivenSerial(c *topology.Cluster) string {
	a := c.Authority(c.CABase())
	if a.X509 == nil || c.Rotation(a.Base) != nil {
		return ""
	}
	return state.CertificateInfoOf(a.X509).Serial
}

// WithCASerial adds the serial of the given CA certificate to the attributes of an item that trusts the
// cluster's CA.
func WithCASerial(c *topology.Cluster, attrs state.Value) state.Value {
	if serial := GivenSerial(c); serial != "" {
		return topology.WithAttribute(attrs, planner.CASerial, serial)
	}
	return attrs
}

// SignedBy returns the identity of the CA as an attribute's value, pending while the CA is still to be
// created.
func SignedBy(c *topology.Cluster, base string) state.Value {
	if digest := caDigest(c, base); digest != "" {
		return state.String(digest)
	}
	return state.PendingValue(topology.StepAddress(c.Primary, topology.CertsPhase).String(), base)
}

// Signer returns where the CA's key is found: on the primary, or with the operator.
func Signer(c *topology.Cluster, base string) planner.Signer {
	a := c.Authority(base)
	s := planner.Signer{Name: a.CAName, Base: base}
	if a.KeyLocation == topology.WithOperator {
		s.Operator = c.Reference(a.Block)
	} else {
		s.On = c.Primary
	}
	return s
}

// BringFile returns a file whose content is a value of the configuration.
func BringFile(c *topology.Cluster, path, mode, field string) planner.SecretFile {
	return planner.SecretFile{Path: path, Mode: mode, Owner: topology.Root, Source: c.Reference(field)}
}

// CheckAuthorities checks the CAs of all clusters.
func CheckAuthorities(v *topology.Fleet) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, c := range v.Clusters {
		if c.Disowned {
			continue
		}
		diags = append(diags, checkAuthorities(c)...)
		diags = append(diags, checkSupplies(c)...)
		diags = append(diags, checkClient(c)...)
	}
	return diags
}

// checkAuthorities compares the operator's CAs with those on the hosts: a running cluster keeps its
// CAs, and their keys stay where they are.
func checkAuthorities(c *topology.Cluster) diag.Diagnostics {
	diags := refuseLostCAs(c)
	for _, a := range c.Authorities {
		diags = append(diags, checkPeriod(c, a)...)
		for _, n := range c.Nodes {
			if n.Report == nil || n.Report.Marks == nil {
				continue // a host that is not ours is refused by another check
			}
			if d := checkAuthority(n, a); d != nil {
				diags = append(diags, d)
			}
		}
	}
	return diags
}

func checkAuthority(n *topology.Node, a topology.CA) *diag.Diagnostic {
	certs, c := n.Report.Files[a.Base+".crt"].Certificates, n.Cluster
	at := Place(c, a.Block)
	if len(certs) == 0 {
		return nil
	}
	switch {
	case c.Rotation(a.Base) != nil:
		return nil
	case a.X509 != nil && certs[0].KeyDigest != state.KeyDigest(a.X509):
		return diag.Errorf("Cluster CA differs from the configuration", "%s (%s) has the CA %q in %s.crt (%s), but the configuration has %q (%s). %s",
			n.Target, n.Address, certs[0].CommonName, a.Base, topology.Short(certs[0].KeyDigest), a.CommonName, topology.Short(state.KeyDigest(a.X509)), toAnother(c, a)).At(at).For(n.Target)
	case !n.IsControlPlane():
		return nil
	case a.KeyOnHosts() && KeyFault(n.Report, a.Base+".key") != "" && n.Target == c.Primary:
		return diag.Errorf("CA key is missing", "%s (%s) has %s.crt and %s, so that nothing can be signed there. If the key was lost, restore it. "+
			"If the CA is managed outside kubewright, provide it in the block %s, as it was when the cluster was bootstrapped.",
			n.Target, n.Address, a.Base, HasNo(n, a.Base+".key"), a.Block).At(at).For(n.Target)
	case !a.KeyOnHosts() && n.Report.Files[a.Base+".key"].Exists:
		return diag.Errorf("CA key is on a host", "%s (%s) has %s.key, but the configuration keeps this key off the hosts. "+
			"Without it, kubelets that renewed their certificates with it would lose them. "+
			"Write on_hosts = true in the block %s; if the file was put there by hand, delete it.", n.Target, n.Address, a.Base, a.Block).At(at).For(n.Target)
	}
	return nil
}

// toAnother says how a running cluster gets another CA of the operator's.
func toAnother(c *topology.Cluster, a topology.CA) remedy.Text {
	if a.KeyLocation == topology.OnHosts {
		return remedy.Textf("To make it the cluster's new CA, request a rotation: all components trust both, before the new one signs and the old one is "+
			"dropped:\n\n  %s\n\nOtherwise provide it, as it was when the cluster was bootstrapped.", remedy.Apply.With(remedy.Rotate.Of(topology.Rotation{Cluster: c.Target, CA: a.Name})))
	}
	return "A running cluster keeps a CA whose key is not on the control planes: a rotation needs the keys of the old and the new one there. " +
		"Provide the CA with which the cluster was bootstrapped, with the same key if its certificate is reissued, or destroy the cluster first."
}

// checkPeriod refuses a CA that is not valid now, and warns of one that expires before the certificates
// that it signs.
func checkPeriod(c *topology.Cluster, a topology.CA) diag.Diagnostics {
	now := c.Fleet.ObservedAt
	if now.IsZero() {
		return nil
	}
	if a.X509 == nil {
		return checkMadePeriod(c, a, now)
	}
	at, from, to := Place(c, a.Block+".certificate"), a.X509.NotBefore, a.X509.NotAfter
	switch {
	case now.After(to):
		return diag.Diagnostics{diag.Errorf("CA certificate has expired", "The CA %q expired on %s: nothing that it has signed is trusted any more. "+
			"Have its certificate reissued for the same key, and provide that.", a.CommonName, Date(to)).At(at).For(c.Target)}
	case now.Before(from):
		return diag.Diagnostics{diag.Errorf("CA certificate is not valid yet", "The CA %q is valid from %s. Correct the clock of this machine, "+
			"or wait until then.", a.CommonName, Date(from)).At(at).For(c.Target)}
	case a.KeyLocation != topology.Keyless && now.Add(c.Certificates.Validity).After(to):
		return diag.Diagnostics{diag.Warningf("CA expires before its certificates", "The CA %q expires on %s, and certificates are issued for %s: "+
			"they are not trusted after that. Have the CA's certificate reissued for the same key before that.",
			a.CommonName, Date(to), topology.Brief(c.Certificates.Validity)).At(at).For(c.Target)}
	}
	return nil
}

// checkMadePeriod is checkPeriod for a CA that kubewright has created. It is rotated only on request:
// everything else would be a surprise.
func checkMadePeriod(c *topology.Cluster, a topology.CA, now time.Time) diag.Diagnostics {
	ca, at := present(c, a), Place(c, "certificates.ca_validity")
	switch {
	case ca == nil: // still to be created
	case now.After(ca.NotAfter):
		if d := checkExpired(c, a, *ca); d != nil {
			return diag.Diagnostics{d}
		}
	case now.Add(c.Certificates.Validity).After(ca.NotAfter):
		return diag.Diagnostics{diag.Warningf("CA expires before its certificates", "The CA %q (%s.crt) expires on %s, and certificates are issued for %s: "+
			"they are not trusted after that. Rotate it before that:\n\n  %s",
			ca.CommonName, a.Base, Date(ca.NotAfter), topology.Brief(c.Certificates.Validity), remedy.Apply.With(remedy.Rotate.Of(topology.Rotation{Cluster: c.Target, CA: a.Name}))).At(at).For(c.Target)}
	}
	return nil
}

// Date formats a time for users.
func Date(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") }

// Adoption returns what the state records of the node if it was adopted. A node that is replaced, or
// whose host was reset since, joins like any other.
func Adoption(n *topology.Node) *state.Adoption {
	v := n.Cluster.Fleet
	if !v.RecordedNode(n.Target) || v.Replaces(n.Target) || n.Report != nil && topology.Blank(n.Report) {
		return nil
	}
	return v.Recorded.Nodes[n.Target].Adopted
}

// Unmarked reports whether the node was adopted and its host does not have our marker yet: nothing was
// changed there.
func Unmarked(n *topology.Node) bool {
	return n.Report != nil && Adoption(n) != nil && (n.Report.Marks == nil || n.Report.Marks.Cluster == "")
}

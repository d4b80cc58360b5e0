package phases

import (
	"crypto/x509"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// kept is what a host has of a supply of which nothing is in the folder.
type kept struct {
	state.CertificateInfo
	// conf is nil for a certificate.
	conf *state.KubeconfigInfo
}

// kept finds a supply on its host. What was supplied need not stay in the folder
// with its key, and of a cluster that somebody else made it never was there: it
// holds until something new is put there under its name.
func (n *node) kept(s Supply) (kept, bool) {
	for _, name := range s.files() {
		if !n.cluster.Certificates.SuppliedFiles[name].IsZero() {
			return kept{}, false
		}
	}
	switch {
	case n.report == nil:
		return kept{}, false
	case s.Kubeconfig != nil:
		return n.keptConf(s.Kubeconfig)
	}
	f := n.report.Files[s.Certificate.Base+".crt"]
	if len(f.Certificates) == 0 || !n.report.Files[s.Certificate.Base+".key"].Exists {
		return kept{}, false
	}
	return kept{CertificateInfo: f.Certificates[0]}, true
}

// keeps tells that a supply is kept.
func (n *node) keeps(s Supply) bool {
	_, ok := n.kept(s)
	return ok
}

// keptConf is a kubeconfig with its certificate inside, or with the one that the
// kubelet asked for while the CA's key was in the cluster still.
func (n *node) keptConf(spec *kubeadm.Kubeconfig) (kept, bool) {
	f := n.report.Files[spec.Path]
	k := kept{conf: f.Kubeconfig}
	if k.conf == nil {
		return k, false
	}
	if k.conf.Client != nil {
		k.CertificateInfo = *k.conf.Client
		return k, true
	}
	certs := n.report.Files[k.conf.ClientCertificate].Certificates
	if len(certs) == 0 {
		return k, false
	}
	k.CertificateInfo = certs[0]
	return k, true
}

// checkKept lists what is wrong with a supply that is kept.
func (c *cluster) checkKept(s Supply, k kept) []string {
	ca := c.authority(s.Certificate.CA)
	digest := state.KeyDigest(ca.certificate)
	out := c.misfits(s, k.CertificateInfo)
	// Behind a CA in between the host cannot tell who signed: that it runs does.
	if k.IssuerKeyDigest != digest && (k.IssuerKeyDigest != "" || k.Issuer == ca.CommonName) {
		out = append(out, fmt.Sprintf("it is not signed by the CA %q that the configuration gives", ca.CommonName))
	}
	if k.conf != nil && !slices.Contains(k.conf.CAKeyDigests(), digest) {
		out = append(out, fmt.Sprintf("it does not trust the CA %q that the configuration gives", ca.CommonName))
	}
	out = append(out, c.outdated(k.CertificateInfo)...)
	for i := range out {
		out[i] = "of the one on the host: " + out[i] + "; a new one is to be " + s.describe()
	}
	return out
}

// misfits lists what a certificate says otherwise than the supply has to.
func (c *cluster) misfits(s Supply, leaf state.CertificateInfo) []string {
	var out []string
	wrong := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	want := s.Certificate
	if leaf.CommonName != want.CommonName {
		wrong("its common name is %q, it has to be %q", leaf.CommonName, want.CommonName)
	}
	for _, o := range want.Organizations {
		if !slices.Contains(leaf.Organizations, o) && !administers(leaf, o) {
			has := "it has no organization"
			if len(leaf.Organizations) > 0 {
				has = "its organization is " + strings.Join(leaf.Organizations, ", ")
			}
			wrong("%s, and it has to have %q", has, o)
		}
	}
	named := &x509.Certificate{DNSNames: leaf.DNSNames}
	for _, ip := range leaf.IPAddresses {
		named.IPAddresses = append(named.IPAddresses, net.ParseIP(ip))
	}
	for _, name := range slices.Concat(want.DNSNames, want.IPAddresses) {
		if named.VerifyHostname(name) != nil {
			wrong("it does not speak for %s", name)
		}
	}
	for _, u := range want.ExtendedUsages() {
		if !slices.Contains(leaf.Usages, u) {
			wrong("it is not for %s", u)
		}
	}
	return out
}

// outdated says that a certificate is not valid now.
func (c *cluster) outdated(leaf state.CertificateInfo) []string {
	switch now := c.view.ObservedAt; {
	case now.After(leaf.NotAfter):
		return []string{"it was valid until " + date(leaf.NotAfter)}
	case !now.IsZero() && now.Before(leaf.NotBefore):
		return []string{"it is valid from " + date(leaf.NotBefore)}
	}
	return nil
}

// administers tells that a certificate may do everything, also what the group may.
func administers(leaf state.CertificateInfo, group string) bool {
	return group == "kubeadm:cluster-admins" && slices.Contains(leaf.Organizations, "system:masters")
}

// asItIs makes the attributes of a kubeconfig those of the one that is kept, but for who
// may read it and by which certificate it trusts the CA: there is nothing to rewrite it
// with.
func (k kept) asItIs(m map[string]any) {
	m["server"] = k.conf.Server
	if len(k.conf.CAs) == 0 || k.conf.CAs[0].KeyDigest != m["ca"] {
		delete(m, planner.CASerial) // it trusts others, who are not to be lost
	}
	if len(k.conf.CAs) > 0 {
		m["ca"] = k.conf.CAs[0].KeyDigest
	}
	if k.conf.Client == nil {
		delete(m, "common_name")
		delete(m, "serial")
		delete(m, "not_after")
	}
}

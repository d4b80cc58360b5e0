package pki

import (
	"crypto/x509"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// kept finds a supply on its host. Supplied files with their keys need not stay in the folder, and
// those of an adopted cluster never were there: the file on the host stays in force until a new one is
// put there under its name.
func kept(n *topology.Node, s Supply) (topology.Kept, bool) {
	for _, name := range s.files() {
		if !n.Cluster.Certificates.SuppliedFiles[name].IsZero() {
			return topology.Kept{}, false
		}
	}
	switch {
	case n.Report == nil:
		return topology.Kept{}, false
	case s.Kubeconfig != nil:
		return keptConf(n, s.Kubeconfig)
	}
	f := n.Report.Files[s.Certificate.Base+".crt"]
	if len(f.Certificates) == 0 || !n.Report.Files[s.Certificate.Base+".key"].Exists {
		return topology.Kept{}, false
	}
	return topology.Kept{CertificateInfo: f.Certificates[0]}, true
}

// keeps reports whether the host's file of a supply is kept.
func keeps(n *topology.Node, s Supply) bool {
	_, ok := kept(n, s)
	return ok
}

// keptConf returns a kubeconfig with the certificate inside, or with the one that the kubelet requested
// while the CA's key was still in the cluster.
func keptConf(n *topology.Node, spec *kubeadm.Kubeconfig) (topology.Kept, bool) {
	f := n.Report.Files[spec.Path]
	k := topology.Kept{Conf: f.Kubeconfig}
	if k.Conf == nil {
		return k, false
	}
	if k.Conf.Client != nil {
		k.CertificateInfo = *k.Conf.Client
		return k, true
	}
	certs := n.Report.Files[k.Conf.ClientCertificate].Certificates
	if len(certs) == 0 {
		return k, false
	}
	k.CertificateInfo = certs[0]
	return k, true
}

// checkKept lists what is wrong with a supply that is kept on its host.
func checkKept(c *topology.Cluster, s Supply, k topology.Kept) []string {
	ca := c.Authority(s.Certificate.CA)
	digest := state.KeyDigest(ca.X509)
	out := misfits(c, s, k.CertificateInfo)
	// With an intermediate CA the host does not show which root signed; the running component proves
	// it.
	if k.IssuerKeyDigest != digest && (k.IssuerKeyDigest != "" || k.Issuer == ca.CommonName) {
		out = append(out, fmt.Sprintf("it is not signed by the CA %q of the configuration", ca.CommonName))
	}
	if k.Conf != nil && !slices.Contains(k.Conf.CAKeyDigests(), digest) {
		out = append(out, fmt.Sprintf("it does not trust the CA %q of the configuration", ca.CommonName))
	}
	out = append(out, outdated(c, k.CertificateInfo)...)
	for i := range out {
		out[i] = "the one on the host: " + out[i] + "; a new one must be " + s.describe()
	}
	return out
}

// misfits lists the differences between a certificate and what the supply requires.
func misfits(c *topology.Cluster, s Supply, leaf state.CertificateInfo) []string {
	var out []string
	wrong := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	want := s.Certificate
	if leaf.CommonName != want.CommonName {
		wrong("its common name is %q, it must be %q", leaf.CommonName, want.CommonName)
	}
	for _, o := range want.Organizations {
		if !slices.Contains(leaf.Organizations, o) && !administers(leaf, o) {
			has := "it has no organization"
			if len(leaf.Organizations) > 0 {
				has = "its organization is " + strings.Join(leaf.Organizations, ", ")
			}
			wrong("%s, and it must have %q", has, o)
		}
	}
	named := &x509.Certificate{DNSNames: leaf.DNSNames}
	for _, ip := range leaf.IPAddresses {
		named.IPAddresses = append(named.IPAddresses, net.ParseIP(ip))
	}
	for _, name := range slices.Concat(want.DNSNames, want.IPAddresses) {
		if named.VerifyHostname(name) != nil {
			wrong("it is not valid for %s", name)
		}
	}
	for _, u := range want.ExtendedUsages() {
		if !slices.Contains(leaf.Usages, u) {
			wrong("it does not allow %s", u)
		}
	}
	return out
}

// outdated says that a certificate is not valid now; nil when it is.
func outdated(c *topology.Cluster, leaf state.CertificateInfo) []string {
	switch now := c.Fleet.ObservedAt; {
	case now.After(leaf.NotAfter):
		return []string{"it expired on " + Date(leaf.NotAfter)}
	case !now.IsZero() && now.Before(leaf.NotBefore):
		return []string{"it is valid from " + Date(leaf.NotBefore)}
	}
	return nil
}

// administers reports whether a certificate has all rights, and so also those of the group.
func administers(leaf state.CertificateInfo, group string) bool {
	return group == "kubeadm:cluster-admins" && slices.Contains(leaf.Organizations, "system:masters")
}

// asItIs takes the attributes of the kubeconfig on the host as desired, since there is nothing to
// rewrite it with. Only its mode, its owner and the certificate by which it trusts the CA are still
// compared.
func asItIs(k topology.Kept, m map[string]any) {
	m["server"] = k.Conf.Server
	if len(k.Conf.CAs) == 0 || k.Conf.CAs[0].KeyDigest != m["ca"] {
		delete(m, planner.CASerial) // it trusts other CAs, which have to stay
	}
	if len(k.Conf.CAs) > 0 {
		m["ca"] = k.Conf.CAs[0].KeyDigest
	}
	if k.Conf.Client == nil {
		delete(m, "common_name")
		delete(m, "serial")
		delete(m, "not_after")
	}
}

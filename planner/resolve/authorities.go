package resolve

import (
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/keypair"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// caBlocks are the blocks of the CAs, by kubeadm's names for them.
var caBlocks = map[string]string{"ca": "ca", "front-proxy-ca": "front_proxy_ca", "etcd-ca": "etcd_ca"}

// authoritiesOf returns the cluster's CAs in kubeadm's order.
func authoritiesOf(c *config.Cluster) []topology.CA {
	given := c.Certificates.Given()
	var out []topology.CA
	for _, ca := range kubeadm.CAs(kubeadm.Input{Cluster: c}) {
		block := "certificates." + caBlocks[ca.Name]
		if g, ok := given[caBlocks[ca.Name]]; ok {
			out = append(out, operatorCA(ca, block, g))
		} else {
			out = append(out, topology.CA{Certificate: ca, Block: block})
		}
	}
	return out
}

// operatorCA returns a CA that the operator provides. Its certificate was validated before.
func operatorCA(ca kubeadm.Certificate, block string, g config.GivenCA) topology.CA {
	a := topology.CA{Certificate: ca, Block: block}
	certs, _ := keypair.ParseCertificates([]byte(g.Certificate))
	if len(certs) > 0 {
		a.X509, a.Chain = certs[0], topology.ChainSerials(certs)
	}
	switch {
	case g.OnHosts:
		a.KeyLocation = topology.OnHosts
	case g.Key.IsZero():
		a.KeyLocation = topology.Keyless
	default:
		a.KeyLocation = topology.WithOperator
	}
	if a.X509 == nil {
		return a
	}
	info := state.CertificateInfoOf(a.X509)
	a.CommonName, a.Organizations, a.DNSNames, a.IPAddresses = info.CommonName, info.Organizations, info.DNSNames, info.IPAddresses
	a.Usages, a.Algorithm = info.Usages, info.Algorithm
	return a
}

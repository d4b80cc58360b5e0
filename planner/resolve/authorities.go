package resolve

import (
	"github.com/kubewright/kubewright/config"
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
		a := topology.CA{Certificate: ca, Block: "certificates." + caBlocks[ca.Name]}
		if g, ok := given[caBlocks[ca.Name]]; ok {
			take(&a, g)
		}
		out = append(out, a)
	}
	return out
}

// take makes the authority the operator's. Its certificate was validated before.
func take(a *topology.CA, g config.GivenCA) {
	certs, _ := config.ParseCertificates([]byte(g.Certificate))
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
		return
	}
	info := state.CertificateInfoOf(a.X509)
	a.CommonName, a.Organizations, a.DNSNames, a.IPAddresses = info.CommonName, info.Organizations, info.DNSNames, info.IPAddresses
	a.Usages, a.Algorithm = info.Usages, info.Algorithm
}

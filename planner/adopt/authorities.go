package adopt

import (
	"fmt"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/keypair"
)

// authorityBases are the paths of a cluster's CAs, relative to its certificates folder.
var authorityBases = []string{"/ca", "/front-proxy-ca", "/etcd/ca"}

// Supplied is the folder for certificates of a CA whose key is held elsewhere. It is empty at
// first: the certificates on the hosts remain valid.
const Supplied = "supplied"

// authorities finds the CAs whose key no control plane has: kubeadm's external CA ("ca.crt is there
// and ca.key is not"). The configuration gets their certificates, and the operator supplies what
// they sign. It returns their common names.
func (r *reader) authorities() ([]string, error) {
	c := &r.cluster.Certificates
	var keyless []string
	for i, into := range []*config.GivenCA{&c.CA, &c.FrontProxyCA, &c.EtcdCA} {
		base := c.Dir + authorityBases[i]
		if into == &c.EtcdCA && r.cluster.Etcd.External != nil || r.hasKey(base) {
			continue
		}
		r.externalCA = r.externalCA || into == &c.CA
		content := r.planes()[0].host.Files[base+".crt"].Content
		if content == nil {
			continue // the plan says that it is missing
		}
		ca, err := keypair.ParseCertificate(content)
		if err != nil {
			return nil, fmt.Errorf("%s.crt on %s: %w", base, r.planes()[0].host.Name, err)
		}
		into.Certificate, c.Supplied = string(content), Supplied
		keyless = append(keyless, ca.Subject.CommonName)
	}
	return keyless, nil
}

// hasKey reports whether a control plane has a CA's key.
func (r *reader) hasKey(base string) bool {
	for _, p := range r.planes() {
		if p.host.Files[base+".key"].Exists {
			return true
		}
	}
	return false
}

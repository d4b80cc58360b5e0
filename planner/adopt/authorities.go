package adopt

import (
	"fmt"

	"github.com/kubewright/kubewright/config"
)

// authorityBases are the CAs of a cluster, below its folder of certificates.
var authorityBases = []string{"/ca", "/front-proxy-ca", "/etcd/ca"}

// Supplied is the folder for what a CA signs whose key is with somebody else. It
// is empty at first: what the hosts have holds.
const Supplied = "supplied"

// authorities finds the CAs whose key no control plane has: an external CA, of
// kubeadm's ("ca.crt is there and ca.key is not"). Their certificates are given,
// and what they sign is supplied. It returns their common names.
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
		ca, err := config.ParseCertificate(content)
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

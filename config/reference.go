package config

import (
	"fmt"
	"strings"

	"github.com/kubewright/kubewright/state"
)

// referenceScheme begins the name of a value of the configuration.
const referenceScheme = "config:"

// Reference names a value of the cluster's block, so that a plan need not hold
// it: config:cluster.prod#certificates.ca.key. Resolve finds the value.
func (c *Cluster) Reference(path string) string {
	return referenceScheme + state.ClusterTarget(c.Label).String() + "#" + path
}

// Resolve finds what a reference stands for. Its errors hold nothing of it.
func (c *Config) Resolve(ref string) (state.Secret, error) {
	for _, cl := range c.Clusters {
		if path, ok := strings.CutPrefix(ref, cl.Reference("")); ok {
			if s, ok := cl.given()[path]; ok && !s.IsZero() {
				return s, nil
			}
		}
	}
	return state.Secret{}, fmt.Errorf("cannot find %s: the configuration does not have it; plan again", ref)
}

// given are the values of the block that are brought to hosts, by path.
func (c *Cluster) given() map[string]state.Secret {
	out := map[string]state.Secret{}
	for name, ca := range c.Certificates.Given() {
		out["certificates."+name+".certificate"] = state.NewSecret([]byte(ca.Certificate))
		out["certificates."+name+".key"] = ca.Key
	}
	if e := c.Etcd.External; e != nil {
		out["etcd.external.ca"] = state.NewSecret([]byte(e.CAContent))
		out["etcd.external.cert"] = state.NewSecret([]byte(e.CertContent))
		out["etcd.external.key"] = e.KeyContent
	}
	return out
}

// Given are the CAs of the operator's by their block's name.
func (p Certificates) Given() map[string]GivenCA {
	out := map[string]GivenCA{}
	for name, ca := range map[string]GivenCA{"ca": p.CA, "front_proxy_ca": p.FrontProxyCA, "etcd_ca": p.EtcdCA} {
		if !ca.IsZero() {
			out[name] = ca
		}
	}
	return out
}

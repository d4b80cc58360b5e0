package config

import (
	"fmt"
	"strings"

	"github.com/kubewright/kubewright/state"
)

// referenceScheme begins a reference to a value of the configuration.
const referenceScheme = "config:"

// Reference names a value of the cluster's block, so that a plan need not hold
// it: config:cluster.prod#certificates.ca.key. Resolve finds the value.
func (c *Cluster) Reference(path string) string {
	return referenceScheme + state.ClusterTarget(c.Label).String() + "#" + path
}

// Resolve returns the value of a reference. Its errors quote nothing of it.
func (c *Config) Resolve(ref string) (state.Secret, error) {
	for _, cl := range c.Clusters {
		if path, ok := strings.CutPrefix(ref, cl.Reference("")); ok {
			if s := cl.given(path); !s.IsZero() {
				return s, nil
			}
		}
	}
	return state.Secret{}, fmt.Errorf("cannot find %s: the configuration does not have it; plan again", ref)
}

// SuppliedPath returns the path of a file in the folder certificates.supplied, for Reference.
func SuppliedPath(name string) string { return state.JoinPath("certificates.supplied", name) }

// given returns a value of the block that is copied to hosts.
func (c *Cluster) given(path string) state.Secret {
	keys := state.SplitPath(path)
	switch {
	case len(keys) == 2 && keys[0] == "restored" && c.Restored != nil:
		return c.Restored.Files[keys[1]]
	case len(keys) != 3:
	case keys[0] == "certificates" && keys[1] == "supplied":
		return c.Certificates.SuppliedFiles[keys[2]]
	case keys[0] == "certificates":
		ca := c.Certificates.Given()[keys[1]]
		return map[string]state.Secret{"certificate": text(ca.Certificate), "key": ca.Key}[keys[2]]
	case keys[0] == "etcd" && keys[1] == "external" && c.Etcd.External != nil:
		e := c.Etcd.External
		return map[string]state.Secret{"ca": text(e.CAContent), "cert": text(e.CertContent), "key": e.KeyContent}[keys[2]]
	}
	return state.Secret{}
}

func text(s string) state.Secret { return state.NewSecret([]byte(s)) }

// Given returns the operator's CAs by their block's name.
func (p Certificates) Given() map[string]GivenCA {
	out := map[string]GivenCA{}
	for name, ca := range map[string]GivenCA{"ca": p.CA, "front_proxy_ca": p.FrontProxyCA, "etcd_ca": p.EtcdCA} {
		if !ca.IsZero() {
			out[name] = ca
		}
	}
	return out
}

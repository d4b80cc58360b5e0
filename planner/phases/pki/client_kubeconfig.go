package pki

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/resolve"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// AdminKubeconfig is where control planes have the administrator's kubeconfig.
const AdminKubeconfig = topology.AdminConf

// ClientKubeconfig returns a kubeconfig of a user's own for a cluster: who the user
// is and how long that is believed. The CA's signer names no node: any control
// plane will do. It fails where nobody here has the CA's key.
func ClientKubeconfig(cfg *config.Config, label, user string, groups []string, validity time.Duration) (planner.WriteKubeconfig, error) {
	v := &topology.Fleet{Config: cfg}
	resolve.Fleet(v)
	for _, c := range v.Clusters {
		if c.Label != label || len(c.ControlPlanes()) == 0 {
			continue
		}
		ca := c.Authority(c.Certificates.Dir + "/ca")
		if ca.KeyLocation == topology.Keyless {
			return planner.WriteKubeconfig{}, fmt.Errorf("this machine cannot sign for cluster %q: the key of its CA %q is kept elsewhere. "+
				"Have a client certificate with CN=%s issued by the holder of that key", label, ca.CommonName, user)
		}
		signer := Signer(c, ca.Base)
		signer.On = state.Target{}
		return planner.WriteKubeconfig{
			Path: topology.AdminConf, CA: signer, Cluster: label, Server: adminServer(c),
			User: user, CommonName: user, Organizations: groups, Algorithm: c.Certificates.Algorithm, Validity: validity, Renew: true,
		}, nil
	}
	return planner.WriteKubeconfig{}, fmt.Errorf("cluster %q has no control planes in the configuration", label)
}

// adminServer returns the URL of the API in the administrator's kubeconfig.
func adminServer(c *topology.Cluster) string {
	return kubeadm.Kubeconfigs(c.ControlPlanes()[0].Input(), false)[0].Server
}

// AdminServers returns the URL of a cluster's API for its administrator, as the
// configuration has it, and as the control planes got it from the last apply: the same,
// unless the endpoint is about to move. Without control planes both are empty.
func AdminServers(cfg *config.Config, recorded *state.State, label string) (server string, applied []string) {
	v := &topology.Fleet{Config: cfg}
	resolve.Fleet(v)
	for _, c := range v.Clusters {
		if c.Label == label && len(c.ControlPlanes()) > 0 {
			server = adminServer(c)
		}
	}
	if recorded == nil {
		return server, nil
	}
	for _, it := range recorded.Items {
		n := recorded.Nodes[it.Address.Target]
		if n == nil || n.Cluster != label || it.Kind != state.KindKubeconfig || it.Address.ID() != topology.AdminConf {
			continue
		}
		if was := it.Attributes.Get("server").AsString(); was != "" && was != server && !slices.Contains(applied, was) {
			applied = append(applied, was)
		}
	}
	return server, applied
}

// CAFile returns the certificate of a cluster's CA on its hosts.
func CAFile(c *config.Cluster) string { return c.Certificates.Dir + "/ca.crt" }

// NextCAFile returns the certificate of the CA that takes its place, while it is rotated.
func NextCAFile(c *config.Cluster) string {
	return topology.NextBase(c.Certificates.Dir+"/ca") + ".crt"
}

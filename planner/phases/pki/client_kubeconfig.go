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

// AdminKubeconfig is the path of the administrator's kubeconfig on control planes.
const AdminKubeconfig = topology.AdminConf

// ClientKubeconfig returns a user's own kubeconfig for a cluster, with the user's identity and the
// period of validity. The signer names no node, since any control plane will do. It fails where the
// CA's key is kept elsewhere.
func ClientKubeconfig(cfg *config.Config, label, user string, groups []string, validity time.Duration) (planner.WriteKubeconfig, error) {
	v := resolve.NewFleet(&topology.Fleet{Config: cfg})
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

// AdminServers returns the administrator's URL of a cluster's API: as the configuration has it, and as
// the last apply wrote it to the control planes where that differs, which means that the endpoint is
// about to move. Without control planes both are empty.
func AdminServers(cfg *config.Config, recorded *state.State, label string) (server string, applied []string) {
	v := resolve.NewFleet(&topology.Fleet{Config: cfg})
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

// CAFile returns the path of the cluster's CA certificate on its hosts.
func CAFile(c *config.Cluster) string { return c.Certificates.Dir + "/ca.crt" }

// NextCAFile returns the path of the new CA's certificate during a rotation.
func NextCAFile(c *config.Cluster) string {
	return topology.NextBase(c.Certificates.Dir+"/ca") + ".crt"
}

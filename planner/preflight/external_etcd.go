package preflight

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/phases/host"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
	"golang.org/x/mod/semver"
)

// RegistryPrefix returns the prefix of the API server's keys.
func RegistryPrefix(c *config.Cluster) string {
	prefix := "/registry"
	for _, a := range c.APIServer.Args {
		if a.Name == "etcd-prefix" {
			prefix = a.Value
		}
	}
	return strings.TrimRight(prefix, "/") + "/"
}

// minExternalEtcd is the oldest etcd that kubeadm accepts (app/constants: MinExternalEtcdVersion of
// 1.34 to 1.37).
const minExternalEtcd = "3.5.24"

// seenExternalEtcd returns the observation through the node, before the cluster's API has used the
// etcd; nil if another node was used for the query.
func seenExternalEtcd(n *topology.Node) *topology.ExternalEtcd {
	c := n.Cluster
	if c.Etcd.External == nil || !c.Founding || c.ControlPlanes()[0] != n {
		return nil
	}
	return c.Fleet.ExternalEtcds[c.Label]
}

// externalEtcdVersion reports an external etcd that is too old, or does not answer.
func externalEtcdVersion(n *topology.Node) []finding {
	seen := seenExternalEtcd(n)
	switch {
	case seen == nil:
		return nil
	case seen.Blind:
		return []finding{{
			text: "the external etcd could not be queried, because this host's sshd does not forward connections. " +
				"It is unknown whether it is new enough and whether it holds another cluster's data",
			remedy: "set AllowTcpForwarding in sshd_config, or verify yourself that it is " + minExternalEtcd + " or newer and holds no other cluster",
		}}
	}
	var out []finding
	for _, endpoint := range host.SortedNames(seen.Versions) {
		if have := seen.Versions[endpoint]; semver.Compare("v"+have, "v"+minExternalEtcd) < 0 {
			out = append(out, finding{
				text:   fmt.Sprintf("the external etcd at %s is %s, but Kubernetes %s needs at least %s", endpoint, have, n.Cluster.KubernetesVersion, minExternalEtcd),
				remedy: "upgrade etcd first",
			})
		}
	}
	if seen.Err != nil && len(etcdClientFiles(n)) == 0 { // missing files would be the cause, and are reported separately
		out = append(out, finding{
			text:   fmt.Sprintf("the external etcd was queried from this host: %v", seen.Err),
			remedy: "check the endpoints of etcd { external }, that etcd runs and is reachable from the control planes, and that it trusts the client certificate",
		})
	}
	return out
}

// externalEtcdData reports keys of another cluster in an external etcd. Once an API server of this
// cluster may have run, the keys may be its own.
func externalEtcdData(n *topology.Node) []finding {
	seen := seenExternalEtcd(n)
	if seen == nil || seen.Keys == 0 || slices.ContainsFunc(n.Cluster.ControlPlanes(), hasAPIServer) {
		return nil
	}
	prefix := RegistryPrefix(n.Cluster.Cluster)
	return []finding{{
		text: fmt.Sprintf("the external etcd already holds a cluster: %d keys begin with %s. A new cluster would take over its objects, "+
			"and what was signed or encrypted for it would not be valid any more", seen.Keys, prefix),
		remedy: fmt.Sprintf("find out which cluster it is; use another etcd, or another etcd-prefix for the API server. "+
			"If it is no longer needed, as after destroy: etcdctl del --prefix %s", state.ShellWord(prefix)),
	}}
}

// hasAPIServer reports whether an API server may have run on the node.
func hasAPIServer(n *topology.Node) bool {
	return n.Report != nil && n.Report.Files[topology.Manifest("kube-apiserver")].Exists
}

package phases

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state"
)

// ExternalEtcd is what was seen of an external etcd on which a cluster is to be
// founded.
type ExternalEtcd struct {
	state.ExternalEtcdReport
	// Err says why not all of it could be looked at; nil when all was.
	Err error
	// Blind tells that hosts do not let a connection through: nothing is known then.
	Blind bool
}

// ExternalEtcdQuery is what to ask an external etcd for, before a cluster is
// founded on it.
type ExternalEtcdQuery struct {
	Cluster *config.Cluster
	// Via is the control plane through which it is reached.
	Via state.Target
	// Prefix is what the API server's keys begin with.
	Prefix string
}

// ExternalEtcdQueries lists the external etcds on which a cluster is to be
// founded: as far as the state knows no API has served it yet, and its control
// planes are blank or have what an earlier run left that was cut short. Reports are
// those of the hosts that answered.
func ExternalEtcdQueries(cfg *config.Config, recorded *state.State, reports map[state.Target]*state.Report) []ExternalEtcdQuery {
	var out []ExternalEtcdQuery
	for _, c := range cfg.Clusters {
		planes := cfg.NodesOf(c.Label, config.ControlPlane)
		founded := recorded != nil && recorded.Clusters[c.Label] != nil && recorded.Clusters[c.Label].Version != "" || slices.ContainsFunc(planes, func(n *config.Node) bool {
			r := reports[n.Target]
			return r == nil || r.Marks == nil && !blank(r)
		})
		if c.Etcd.External != nil && !founded && len(planes) > 0 {
			out = append(out, ExternalEtcdQuery{Cluster: c, Via: planes[0].Target, Prefix: registryPrefix(c)})
		}
	}
	return out
}

// registryPrefix is what the API server's keys begin with.
func registryPrefix(c *config.Cluster) string {
	prefix := "/registry"
	for _, a := range c.APIServer.Args {
		if a.Name == "etcd-prefix" {
			prefix = a.Value
		}
	}
	return strings.TrimRight(prefix, "/") + "/"
}

// minExternalEtcd is the oldest etcd that kubeadm takes (app/constants:
// MinExternalEtcdVersion of 1.34 to 1.37).
const minExternalEtcd = "3.5.24"

// seenExternalEtcd is what was seen through the node, before the cluster's API has
// served anything; nil when it is not the one through which it was asked.
func (n *node) seenExternalEtcd() *ExternalEtcd {
	c := n.cluster
	if c.Etcd.External == nil || !c.founding || c.controlPlanes()[0] != n {
		return nil
	}
	return c.view.ExternalEtcds[c.Label]
}

// externalEtcdVersion finds an external etcd that is too old, or does not answer.
func externalEtcdVersion(n *node) []finding {
	seen := n.seenExternalEtcd()
	switch {
	case seen == nil:
		return nil
	case seen.Blind:
		return []finding{{
			text:   "the external etcd could not be looked at, because this host's sshd does not let connections through. Nobody knows whether it is new enough and holds another cluster's data",
			remedy: "set AllowTcpForwarding in sshd_config, or see for yourself that it is " + minExternalEtcd + " or newer and holds no other cluster",
		}}
	}
	var out []finding
	for _, endpoint := range sortedNames(seen.Versions) {
		if have := seen.Versions[endpoint]; semver.Compare("v"+have, "v"+minExternalEtcd) < 0 {
			out = append(out, finding{
				text:   fmt.Sprintf("the external etcd at %s is %s, and Kubernetes %s needs %s at least", endpoint, have, n.cluster.KubernetesVersion, minExternalEtcd),
				remedy: "upgrade etcd first",
			})
		}
	}
	if seen.Err != nil && len(etcdClientFiles(n)) == 0 { // which would be the cause, and is told by itself
		out = append(out, finding{
			text:   fmt.Sprintf("seen from here, %v", seen.Err),
			remedy: "check the endpoints of etcd { external }, that etcd runs and may be reached from the control planes, and that it trusts the client certificate",
		})
	}
	return out
}

// externalEtcdData finds keys of another cluster in an external etcd. Once an API
// server of this one may have run they may be its own.
func externalEtcdData(n *node) []finding {
	seen := n.seenExternalEtcd()
	if seen == nil || seen.Keys == 0 || slices.ContainsFunc(n.cluster.controlPlanes(), (*node).hasAPIServer) {
		return nil
	}
	prefix := registryPrefix(n.cluster.Cluster)
	return []finding{{
		text:   fmt.Sprintf("the external etcd holds a cluster already: %d keys begin with %s. A new cluster would take over that one's objects, and what was signed or encrypted for it would not be valid any more", seen.Keys, prefix),
		remedy: fmt.Sprintf("find out whose it is; use another etcd, or another etcd-prefix for the API server. If nobody needs it any more, as after destroy: etcdctl del --prefix %s", state.ShellWord(prefix)),
	}}
}

// hasAPIServer tells that an API server may have run on the node.
func (n *node) hasAPIServer() bool {
	return n.report != nil && n.report.Files[manifest("kube-apiserver")].Exists
}

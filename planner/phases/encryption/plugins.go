package encryption

import (
	"path"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/hostfile"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// An API server reaches a KMS plugin by a socket in a folder that its pod mounts. It restarts with a
// further folder before it is told to use the plugin, and without one after it has no use for it:
// objects of the plugin are read meanwhile.

// reaches reports whether the API server of a node, which reads the file already, has to restart
// before it can reach the plugin that is to encrypt.
func (p *Progress) reaches(n *topology.Node) bool {
	c := n.Cluster
	if c.AtRest == nil || c.AtRest.KMS == nil || !Told(n) {
		return false
	}
	var mounts []string
	for _, m := range n.Seen(state.KindStaticPod, topology.Manifest("kube-apiserver")).Get("mounts").AsMap() {
		mounts = append(mounts, m.Get("mountPath").AsString())
	}
	return !mounted(mounts, c.AtRest.KMS.Endpoint)
}

// leaves reports whether API servers cannot reach a plugin any more once they have restarted.
func (p *Progress) leaves(c *topology.Cluster) bool {
	return c.AtRest != nil && p.left(c) != ""
}

// left returns the socket of a plugin in use that is in no folder of the desired pods; empty if there
// is none.
func (p *Progress) left(c *topology.Cluster) string {
	var mounts []string
	for _, v := range c.APIServer.Volumes {
		mounts = append(mounts, v.MountPath)
	}
	in := plugins(c)
	for _, r := range p.resources() {
		for _, id := range p.union[r] {
			if plugin, ok := in[id]; ok && !mounted(mounts, plugin.Endpoint) {
				return plugin.Endpoint
			}
		}
	}
	return ""
}

// mounted reports whether a socket is in one of the folders.
func mounted(folders []string, endpoint string) bool {
	return slices.ContainsFunc(folders, func(at string) bool { return hostfile.Below(socket(endpoint), at) })
}

func socket(endpoint string) string { return strings.TrimPrefix(endpoint, config.SocketPrefix) }

// checkSockets refuses a change during which API servers would need a folder before a restart and
// another one after it.
func (p *Progress) checkSockets(c *topology.Cluster) *diag.Diagnostic {
	if !p.leaves(c) || !slices.ContainsFunc(p.Nodes, func(n *topology.Node) bool { return p.reaches(n) || !Told(n) }) {
		return nil
	}
	folder := path.Dir(socket(p.left(c)))
	return diag.Errorf("API servers would lose a KMS plugin", "%s: objects are encrypted by the plugin at %s until all are stored again, and API servers would restart without the folder %s before. "+
		"Put the new socket into that folder; or keep the folder mounted with an extra_volume in api_server until the change is done.",
		c.Target.String()+"/encryption", p.left(c), folder)
}

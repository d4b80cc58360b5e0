package sim

import (
	"slices"
	"strings"

	"github.com/kubewright/kubewright/state"
)

const proxyDaemon = "kube-proxy"

// proxyConfig identifies what the ConfigMap of kube-proxy holds.
func (w *World) proxyConfig(c *cluster) string {
	b, err := w.object(c, state.KubeProxyConfig).Get("data").MarshalJSON()
	if err != nil {
		return ""
	}
	return sum(b)
}

// rollProxies replaces the pods of kube-proxy on the hosts whose kubelet runs, if the
// object is its DaemonSet: they read their configuration. They do so at no other time.
func (w *World) rollProxies(c *cluster, ref state.ObjectRef) {
	if ref.Kind != "DaemonSet" || ref.Namespace != "kube-system" || ref.Name != proxyDaemon {
		return
	}
	for _, n := range c.Nodes {
		if m := w.d.Hosts[n.Host]; m != nil && w.kubeletRuns(m) && slices.Contains(m.Daemons, proxyDaemon) {
			m.ProxyRead = w.proxyConfig(c)
		}
	}
}

// staleProxies lists the nodes where kube-proxy runs with another configuration than
// the one in its ConfigMap. Hosts of older files do not say what theirs has read.
func (w *World) staleProxies(c *cluster) []string {
	now := w.proxyConfig(c)
	var out []string
	for name, n := range c.Nodes {
		if m := w.d.Hosts[n.Host]; m != nil && slices.Contains(m.Daemons, proxyDaemon) && m.ProxyRead != "" && m.ProxyRead != now {
			out = append(out, name)
		}
	}
	slices.SortFunc(out, strings.Compare)
	return out
}

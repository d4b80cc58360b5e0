package sim

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kubewright/kubewright/planner"
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

// The rules that a kube-proxy makes in each of its modes that leave some behind.
var proxyRules = map[string][]string{
	planner.ProxyIPTables: {"kube-proxy KUBE-EXTERNAL-SERVICES", "kube-proxy KUBE-SVC-NPX46M4PTMTKRN6Y"},
	planner.ProxyIPVS:     {"kube-proxy KUBE-IPVS-FILTER", "kube-proxy KUBE-LOAD-BALANCER"},
}

const ipvsLink = "kube-ipvs0"

// startProxy is what the start of kube-proxy leaves on a host: its configuration is read,
// the rules of its mode are written, and those of the other mode stay unless one of the two
// is nftables.
func (w *World) startProxy(m *machine, c *cluster) {
	m.ProxyRead = w.proxyConfig(c)
	for _, rule := range []string{"KUBE-SERVICES", "KUBE-POSTROUTING"} {
		insert(&m.Rules, "kube-proxy "+rule)
	}
	mode := w.proxyMode(c)
	if proxyRules[mode] == nil {
		for mode := range proxyRules {
			w.removeProxyRules(m, mode)
		}
		return
	}
	for _, rule := range proxyRules[mode] {
		insert(&m.Rules, rule)
	}
	if mode == planner.ProxyIPVS {
		insert(&m.Links, ipvsLink)
	}
}

// proxyMode returns the mode that kube-proxy takes of its ConfigMap.
func (w *World) proxyMode(c *cluster) string {
	var config struct{ Mode string }
	if yaml.Unmarshal([]byte(w.object(c, state.KubeProxyConfig).Get("data").AsMap()["config.conf"].AsString()), &config) != nil || config.Mode == "" {
		return planner.ProxyIPTables
	}
	return config.Mode
}

// proxyModes lists the modes of which a host has rules, as a look at it finds them.
func (m *machine) proxyModes() []string {
	if !slices.Contains(m.Links, ipvsLink) {
		return nil
	}
	if slices.Contains(m.Rules, proxyRules[planner.ProxyIPTables][0]) {
		return []string{planner.ProxyIPVS, planner.ProxyIPTables}
	}
	return []string{planner.ProxyIPVS}
}

// clearProxyRules removes the rules of one mode where those of the other are there.
func (w *World) clearProxyRules(m *machine, mode string) (bool, error) {
	for other, rules := range proxyRules {
		if other != mode && !slices.Contains(m.Rules, rules[0]) {
			return false, fmt.Errorf("kube-proxy has written no rules in its mode %s here within a minute", other)
		}
	}
	return w.removeProxyRules(m, mode), nil
}

func (w *World) removeProxyRules(m *machine, mode string) bool {
	n := len(m.Rules) + len(m.Links)
	m.Rules = slices.DeleteFunc(m.Rules, func(rule string) bool { return slices.Contains(proxyRules[mode], rule) })
	if mode == planner.ProxyIPVS {
		m.Links = slices.DeleteFunc(m.Links, func(link string) bool { return link == ipvsLink })
	}
	return len(m.Rules)+len(m.Links) != n
}

// rollProxies replaces the pods of kube-proxy on the hosts whose kubelet runs, if the
// object is its DaemonSet: they read their configuration. They do so at no other time.
func (w *World) rollProxies(c *cluster, ref state.ObjectRef) {
	if ref.Kind != "DaemonSet" || ref.Namespace != "kube-system" || ref.Name != proxyDaemon {
		return
	}
	for _, n := range c.Nodes {
		if m := w.d.Hosts[n.Host]; m != nil && w.kubeletRuns(m) && slices.Contains(m.Daemons, proxyDaemon) {
			w.startProxy(m, c)
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

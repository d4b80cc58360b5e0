package apiserver

import (
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers/sim/file"
	"github.com/kubewright/kubewright/providers/sim/machine"
	"github.com/kubewright/kubewright/state"
	"sigs.k8s.io/yaml"
)

const proxyDaemon = "kube-proxy"

// proxyConfig identifies the content of kube-proxy's ConfigMap.
func (a API) proxyConfig() string {
	b, err := a.Object(state.KubeProxyConfig).Get("data").MarshalJSON()
	if err != nil {
		return ""
	}
	return file.Digest(b)
}

// StartProxy starts kube-proxy on a machine: it reads its configuration and writes the
// rules of its mode.
func (a API) StartProxy(m *machine.Machine) {
	m.ProxyRead = a.proxyConfig()
	m.ProxyRules().Write(a.proxyMode())
}

// proxyMode returns the mode in kube-proxy's ConfigMap.
func (a API) proxyMode() string {
	var config struct{ Mode string }
	if yaml.Unmarshal([]byte(a.Object(state.KubeProxyConfig).Get("data").AsMap()["config.conf"].AsString()), &config) != nil || config.Mode == "" {
		return planner.ProxyIPTables
	}
	return config.Mode
}

// restartProxies restarts kube-proxy on the hosts whose kubelet runs, if the object is its
// DaemonSet: kube-proxy reads its configuration only at its start.
func (a API) restartProxies(ref state.ObjectRef) {
	if ref.Kind != "DaemonSet" || ref.Namespace != "kube-system" || ref.Name != proxyDaemon {
		return
	}
	for _, n := range a.c.Nodes {
		if m := a.servers.Hosts[n.Host]; m != nil && m.Processes().KubeletRuns() && slices.Contains(m.Daemons, proxyDaemon) {
			a.StartProxy(m)
		}
	}
}

// StaleProxies lists the nodes where kube-proxy runs with a configuration other than the
// one in its ConfigMap. For hosts from older world files it is unknown.
func (a API) StaleProxies() []string {
	now := a.proxyConfig()
	var out []string
	for name, n := range a.c.Nodes {
		if m := a.servers.Hosts[n.Host]; m != nil && slices.Contains(m.Daemons, proxyDaemon) && m.ProxyRead != "" && m.ProxyRead != now {
			out = append(out, name)
		}
	}
	slices.SortFunc(out, strings.Compare)
	return out
}

// stopDaemonSet stops a DaemonSet's pods; their changes to the hosts stay.
func (a API) stopDaemonSet(name string) {
	for _, n := range a.c.Nodes {
		if m := a.servers.Hosts[n.Host]; m != nil && m.Processes().KubeletRuns() {
			m.Daemons = slices.DeleteFunc(m.Daemons, func(d string) bool { return d == name })
		}
	}
}

package config

import (
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/hostrules"
	"github.com/kubewright/kubewright/state"
)

// Sysctl is a kernel parameter of a node, by its name with dots.
type Sysctl struct {
	Name, Value string
	Source      state.Source
}

// SysctlsOf returns the kernel parameters of a node of the cluster, sorted by name: the cluster's,
// and the node's over them.
func (cl *Cluster) SysctlsOf(n *Node) []Sysctl {
	byName := map[string]Sysctl{}
	for _, from := range []struct {
		values  map[string]string
		origins Origins
	}{{cl.Sysctls, cl.Origins}, {n.Sysctls, n.Origins}} {
		for key, value := range from.values {
			if name, err := hostrules.SysctlName(key); err == nil {
				byName[name] = Sysctl{Name: name, Value: hostrules.SysctlValue(value), Source: from.origins.Of(state.JoinPath("sysctls", key))}
			}
		}
	}
	out := make([]Sysctl, 0, len(byName))
	for _, name := range keys(byName) {
		out = append(out, byName[name])
	}
	return out
}

// ModulesOf returns the kernel modules of a node of the cluster: the cluster's, and then those that
// only the node lists.
func (cl *Cluster) ModulesOf(n *Node) []string {
	out := slices.Clone(cl.KernelModules)
	for _, name := range n.KernelModules {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// checkSysctls checks the kernel parameters of a cluster, or of a node in it.
func checkSysctls(c checker, m map[string]string, cl *Cluster) {
	spelled := map[string]string{}
	for _, key := range keys(m) {
		path, value := state.JoinPath("sysctls", key), m[key]
		name, err := hostrules.SysctlName(key)
		if err != nil {
			c.errorf(path, "Invalid sysctl", "%s.", err)
			continue
		}
		if other := spelled[name]; other != "" {
			c.errorf(path, "Sysctl given twice", "%q and %q are the same kernel parameter. Write one of them.", other, key)
		}
		spelled[name] = key
		if err := hostrules.CheckSysctlValue(value); err != nil {
			c.errorf(path, "Invalid value of a sysctl", "%s cannot be set: %s.", name, err)
			continue
		}
		value = hostrules.SysctlValue(value)
		if why := hostrules.ForeignSysctl(name, value); why != "" {
			c.errorf(path, "Sysctl cannot be set", "%s is %s. Take it out of sysctls.", name, why)
		}
		if need, why := hostrules.NeededSysctl(name); need != "" && value != need && usesFamily(cl, name) {
			c.errorf(path, "Sysctl contradicts Kubernetes", "%s must be %s: %s. Write %q, or take it out of sysctls.", name, need, why, need)
		}
		if field := hostrules.ProxySysctls[name]; field != "" && cl != nil && proxySets(cl, field) {
			c.errorf(path, "Sysctl belongs to another", "kube-proxy sets %s at each start, as kube_proxy { config = { conntrack = { %s = … } } } says. Write it there; or set that field to 0, "+
				"with which kube-proxy leaves the host's value alone.", name, field)
		}
	}
}

// usesFamily reports whether a kernel parameter concerns an IP family of the cluster.
func usesFamily(cl *Cluster, name string) bool {
	if cl == nil || !strings.HasPrefix(name, "net.ipv") {
		return true
	}
	separator := "."
	if strings.HasPrefix(name, "net.ipv6.") {
		separator = ":"
	}
	return strings.Contains(cl.Network.ServiceSubnet+cl.Network.PodSubnet, separator)
}

// proxySets reports whether kube-proxy sets the kernel parameter of a field of its conntrack
// configuration, as it does by default.
func proxySets(cl *Cluster, field string) bool {
	v := cl.KubeProxy.Config.Get("conntrack").Get(field)
	return !cl.KubeProxy.Disabled && (v.IsNull() || !slices.Contains([]string{"0", "0s", "0h0m0s"}, v.AsString()))
}

package config

import (
	"net/netip"
	"reflect"
	"slices"
	"time"

	proxyconfig "k8s.io/kube-proxy/config/v1alpha1"
	netutils "k8s.io/utils/net"

	"github.com/kubewright/kubewright/config/componentflag"
	"github.com/kubewright/kubewright/state"
)

// proxyRules are the rules for kube-proxy's single values.
var proxyRules = []rule{
	enum("mode", "iptables", "ipvs", "nftables"),
	enum("detectLocalMode", "ClusterCIDR", "NodeCIDR", "BridgeInterface", "InterfaceNamePrefix"),
	enum("logging.format", "text", "json"),
	between("oomScoreAdj", -1000, 1000), between("iptables.masqueradeBit", 0, 31),
	between("conntrack.maxPerCore", 0, many), between("conntrack.min", 0, many), between("clientConnection.burst", 0, many),
	lasting("conntrack.tcpEstablishedTimeout", 0, forever), lasting("conntrack.tcpCloseWaitTimeout", 0, forever),
	lasting("conntrack.udpTimeout", 0, forever), lasting("conntrack.udpStreamTimeout", 0, forever),
	lasting("configSyncPeriod", 0, forever),
}

// kubeProxy checks kube-proxy's settings.
func (c checker) kubeProxy(cl *Cluster) {
	v := cl.KubeProxy.Config
	if v.IsNull() {
		return
	}
	const block = "kube_proxy.config"
	c.header(block, v, proxyconfig.SchemeGroupVersion.String(), "KubeProxyConfiguration")
	c.tree(block, "KubeProxyConfiguration", v, reflect.TypeFor[proxyconfig.KubeProxyConfiguration]())
	c.rules(block, v, proxyRules)
	c.gateMap(block+".featureGates", "kube-proxy", v.Get("featureGates"))
	if v.Get("mode").AsString() == "ipvs" && c.minor >= 35 {
		c.warnf(block+".mode", "Deprecated proxy mode", "ipvs is deprecated since Kubernetes 1.35. Use nftables.")
	}
	if v.Get("hostnameOverride").AsString() != "" {
		c.errorf(block+".hostnameOverride", "Field belongs elsewhere", "One configuration serves all nodes, and each gets its own name. Remove hostnameOverride.")
	}
	c.proxyAddresses(block, v)
	c.proxyCombinations(block, v)
	for _, x := range componentflag.ProxyFields(v, c.minor) {
		c.errorf(block+"."+x.Flag, "Invalid value", "%s", x.Text(c.show(block+"."+x.Flag, "")))
	}
	if cl.KubeProxy.Disabled {
		c.warnf(block, "Setting has no effect", "kube-proxy is not enabled, so that its configuration is not used.")
	}
}

// proxyAddresses checks addresses and subnets of kube-proxy
// (pkg/proxy/apis/config/validation).
func (c checker) proxyAddresses(block string, v state.Value) {
	if s := v.Get("bindAddress").AsString(); s != "" && netutils.ParseIPSloppy(s) == nil {
		c.errorf(block+".bindAddress", "Invalid address", "%s is no IP address, as in \"0.0.0.0\" or \"::\".", Quote(s))
	}
	for _, name := range []string{"healthzBindAddress", "metricsBindAddress"} {
		if s := v.Get(name).AsString(); s != "" {
			_, errPort := netip.ParseAddrPort(s)
			_, errAddr := netip.ParseAddr(s)
			if errPort != nil && errAddr != nil {
				c.errorf(block+"."+name, "Invalid address", "%s is no IP address with a port, as in \"0.0.0.0:10256\".", Quote(s))
			}
		}
	}
	// kube-proxy reads clusterCIDR only if it detects local pods by it.
	if mode := v.Get("detectLocalMode").AsString(); mode == "" || mode == "ClusterCIDR" {
		c.subnets(block+".clusterCIDR", v.Get("clusterCIDR").AsString())
	}
	keywords := []string{"primary"}
	if c.minor == 0 || c.minor >= 37 {
		keywords = append(keywords, "localhost", "all")
	}
	c.cidrs(block+".nodePortAddresses", v.Get("nodePortAddresses"), keywords)
	if v.Get("mode").AsString() == "ipvs" {
		c.cidrs(block+".ipvs.excludeCIDRs", v.Get("ipvs.excludeCIDRs"), nil)
	}
}

// cidrs checks a list of subnets, in which the keywords are allowed as well.
func (c checker) cidrs(path string, v state.Value, keywords []string) {
	for _, e := range v.AsList() {
		if _, _, err := netutils.ParseCIDRSloppy(e.AsString()); err == nil || slices.Contains(keywords, e.AsString()) {
			continue
		}
		words := ""
		if len(keywords) > 0 {
			words = ", nor one of the words " + list(keywords)
		}
		c.errorf(path, "Invalid subnet", "%s is no CIDR, as in \"192.0.2.0/24\"%s. kube-proxy would not start.", Quote(e.AsString()), words)
	}
}

// proxyCombinations checks values of kube-proxy that depend on each other.
func (c checker) proxyCombinations(block string, v state.Value) {
	const summary = "Values contradict each other"
	mode, least := v.Get("mode").AsString(), time.Second
	switch mode {
	case "":
		mode = "iptables"
	case "ipvs":
		least = 0
	}
	if shortest, period := lasts(v, mode+".minSyncPeriod", least), lasts(v, mode+".syncPeriod", 30*time.Second); shortest > period {
		c.errorf(block+"."+mode+".syncPeriod", summary, "syncPeriod (%s) must not be less than minSyncPeriod (%s); kube-proxy would not start.", Duration(period), Duration(shortest))
	}
	for _, x := range []struct{ mode, field string }{{"BridgeInterface", "bridgeInterface"}, {"InterfaceNamePrefix", "interfaceNamePrefix"}} {
		if v.Get("detectLocalMode").AsString() == x.mode && v.Get("detectLocal."+x.field).AsString() == "" {
			c.errorf(block+".detectLocalMode", summary, "The mode %q needs detectLocal = { %s = \"…\" }, and kube-proxy would not start. Add it, or choose another mode.", x.mode, x.field)
		}
	}
}

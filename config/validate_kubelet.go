package config

import (
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	proxyconfig "k8s.io/kube-proxy/config/v1alpha1"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

// kubelet checks the settings of the cluster's kubelets, or of one node's over
// those of its cluster.
func (c checker) kubelet(k Kubelet, base state.Value) {
	c.args("kubelet", "kubelet", k.Args)
	if k.Config.IsNull() {
		return
	}
	c.kubeletFields(k.Config)
	var before diag.Diagnostics
	scratch := c
	scratch.out = &before
	if scratch.kubeletCombinations(base); len(before) == 0 {
		c.kubeletCombinations(MergeTrees(base, k.Config))
	}
	c.managed(k.Config)
}

// kubeletFields checks what can be said of each field of a KubeletConfiguration by
// itself, whoever writes it.
func (c checker) kubeletFields(v state.Value) {
	const block = "kubelet.config"
	c.header(block, v, kubeletconfig.SchemeGroupVersion.String(), "KubeletConfiguration")
	c.tree(block, "KubeletConfiguration", v, reflect.TypeFor[kubeletconfig.KubeletConfiguration]())
	c.rules(block, v, kubeletRules)
	c.since(v)
	c.kubeletLists(v)
	for _, path := range []string{"evictionHard", "evictionSoft", "evictionMinimumReclaim"} {
		c.thresholds(block, path, v)
	}
	c.suiteList(block+".tlsCipherSuites", v.Get("tlsCipherSuites"))
	c.gateMap(block+".featureGates", "kubelet", v.Get("featureGates"))
}

// header checks apiVersion and kind, which may be left out.
func (c checker) header(block string, v state.Value, apiVersion, kind string) {
	c.oneOf(block+".apiVersion", "Wrong kind of configuration", v.Get("apiVersion").AsString(), apiVersion)
	c.oneOf(block+".kind", "Wrong kind of configuration", v.Get("kind").AsString(), kind)
}

// rule is what a component checks of a value when it starts.
type rule struct {
	path     string
	allowed  []string
	min, max int64
}

func enum(path string, allowed ...string) rule { return rule{path: path, allowed: allowed} }
func between(path string, min, max int64) rule { return rule{path: path, min: min, max: max} }
func (r rule) outside(n int64) bool            { return n < r.min || n > r.max }
func (c checker) number(v state.Value) (n int64, ok bool) {
	if v.Kind() != state.KindNumber {
		return 0, false
	}
	n, err := strconv.ParseInt(v.AsString(), 10, 64)
	return n, err == nil
}

const many = 1<<31 - 1

// kubeletRules are those of single values.
var kubeletRules = []rule{
	enum("cgroupDriver", "cgroupfs", "systemd"),
	enum("cpuManagerPolicy", "none", "static"),
	enum("memoryManagerPolicy", "None", "Static"),
	enum("topologyManagerPolicy", "none", "best-effort", "restricted", "single-numa-node"),
	enum("topologyManagerScope", "container", "pod"),
	enum("hairpinMode", "promiscuous-bridge", "hairpin-veth", "none"),
	enum("tlsMinVersion", tlsVersions...),
	enum("configMapAndSecretChangeDetectionStrategy", "Get", "Cache", "Watch"),
	enum("memorySwap.swapBehavior", "NoSwap", "LimitedSwap"),
	enum("authorization.mode", "AlwaysAllow", "Webhook"),
	enum("logging.format", "text", "json"),
	enum("imagePullCredentialsVerificationPolicy", "NeverVerify", "NeverVerifyPreloadedImages", "NeverVerifyAllowlistedImages", "AlwaysVerify"),
	enum("memoryReservationPolicy", "None", "TieredReservation"),
	between("port", 1, 65535), between("readOnlyPort", 0, 65535), between("healthzPort", 0, 65535),
	between("imageGCHighThresholdPercent", 0, 100), between("imageGCLowThresholdPercent", 0, 100),
	between("maxPods", 1, many), between("podsPerCore", 0, many), between("maxOpenFiles", 0, 1<<62),
	between("oomScoreAdj", -1000, 1000), between("registryBurst", 0, many), between("registryPullQPS", 0, many),
	between("eventBurst", 0, many), between("eventRecordQPS", 0, many), between("kubeAPIBurst", 0, many),
	between("iptablesMasqueradeBit", 0, 31), between("iptablesDropBit", 0, 31), between("nodeStatusMaxImages", -1, many),
	between("containerLogMaxFiles", 2, many), between("containerLogMaxWorkers", 1, many), between("maxParallelImagePulls", 1, many),
	between("nodeLeaseDurationSeconds", 1, many), between("podPidsLimit", -1, 1<<62),
}

// proxyRules are those of kube-proxy.
var proxyRules = []rule{
	enum("mode", "iptables", "ipvs", "nftables"),
	enum("detectLocalMode", "ClusterCIDR", "NodeCIDR", "BridgeInterface", "InterfaceNamePrefix"),
	enum("logging.format", "text", "json"),
	between("oomScoreAdj", -1000, 1000), between("iptables.masqueradeBit", 0, 31), between("nftables.masqueradeBit", 0, 31),
	between("conntrack.maxPerCore", 0, many), between("conntrack.min", 0, many),
}

// rules checks single values of a tree.
func (c checker) rules(block string, v state.Value, rules []rule) {
	for _, r := range rules {
		value := v.Get(r.path)
		path := block + "." + r.path
		if r.allowed != nil {
			if value.Kind() == state.KindString {
				c.oneOf(path, "Invalid value", value.AsString(), r.allowed...)
			}
			continue
		}
		if n, ok := c.number(value); ok && r.outside(n) {
			switch {
			case r.max >= many && n < r.min:
				c.errorf(path, "Value out of range", "%s is %d; it must be %d or more.", r.path, n, r.min)
			case r.max >= many: // more than its type holds, which was said
			default:
				c.errorf(path, "Value out of range", "%s is %d; it must be from %d to %d.", r.path, n, r.min, r.max)
			}
		}
	}
}

// fieldsSince are fields that not every supported kubelet knows.
var fieldsSince = map[string]int{"memoryReservationPolicy": 36, "tlsCurvePreferences": 36, "defaultPodSysctls": 37}

// since reports fields that the version's kubelet would refuse.
func (c checker) since(v state.Value) {
	for _, name := range keys(fieldsSince) {
		if c.minor != 0 && c.minor < fieldsSince[name] && !v.Get(name).IsNull() {
			c.errorf("kubelet.config."+name, "Unknown field", "The kubelet knows %s since Kubernetes 1.%d, and would not start with it.", name, fieldsSince[name])
		}
	}
}

// kubeletCombinations checks values that depend on each other.
func (c checker) kubeletCombinations(v state.Value) {
	const block = "kubelet.config."
	low, okLow := c.number(v.Get("imageGCLowThresholdPercent"))
	high, okHigh := c.number(v.Get("imageGCHighThresholdPercent"))
	if !okLow {
		low = 80
	}
	if !okHigh {
		high = 85
	}
	if (okLow || okHigh) && low >= high {
		c.errorf(block+"imageGCHighThresholdPercent", "Values contradict each other", "imageGCLowThresholdPercent (%s) must be less than imageGCHighThresholdPercent (%s).", orDefault(low, okLow), orDefault(high, okHigh))
	}
	all, _ := time.ParseDuration(v.Get("shutdownGracePeriod").AsString())
	critical, _ := time.ParseDuration(v.Get("shutdownGracePeriodCriticalPods").AsString())
	if critical > all {
		c.errorf(block+"shutdownGracePeriodCriticalPods", "Values contradict each other", "shutdownGracePeriodCriticalPods is a part of shutdownGracePeriod and cannot be longer than that.")
	}
	if all > 0 && len(v.Get("shutdownGracePeriodByPodPriority").AsList()) > 0 {
		c.errorf(block+"shutdownGracePeriodByPodPriority", "Values contradict each other", "shutdownGracePeriodByPodPriority and shutdownGracePeriod exclude each other. Write one of them.")
	}
	// Where serializeImagePulls is not written, the kubelet makes it false for more than one.
	if n, ok := c.number(v.Get("maxParallelImagePulls")); ok && n > 1 && v.Get("serializeImagePulls").AsBool() {
		c.errorf(block+"maxParallelImagePulls", "Values contradict each other", "maxParallelImagePulls is %d while serializeImagePulls is true, and the kubelet would not start. Remove serializeImagePulls, or write 1.", n)
	}
}

// orDefault is a number for a message, which says so when nobody wrote it.
func orDefault(n int64, written bool) string {
	if written {
		return strconv.FormatInt(n, 10)
	}
	return strconv.FormatInt(n, 10) + " by default"
}

// kubeletLists checks the elements of lists and maps.
func (c checker) kubeletLists(v state.Value) {
	const block = "kubelet.config."
	for _, e := range v.Get("enforceNodeAllocatable").AsList() {
		c.oneOf(block+"enforceNodeAllocatable", "Invalid value", e.AsString(), "none", "pods", "system-reserved", "system-reserved-compressible", "kube-reserved", "kube-reserved-compressible")
	}
	for _, name := range []string{"systemReserved", "kubeReserved"} {
		for _, k := range v.Get(name).Keys() {
			if _, err := resource.ParseQuantity(v.Get(name).AsMap()[k].AsString()); err != nil {
				c.errorf(state.JoinPath(block+name, k), "Invalid quantity", "%s is no quantity, as in \"500m\" or \"1Gi\".", Quote(v.Get(name).AsMap()[k].AsString()))
			}
		}
	}
}

// evictionSignals are the names of thresholds on Linux.
var evictionSignals = []string{"memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree", "containerfs.available", "containerfs.inodesFree", "allocatableMemory.available", "pid.available"}

// thresholds checks signals and their quantities or percentages.
func (c checker) thresholds(block, name string, v state.Value) {
	m := v.Get(name)
	for _, signal := range m.Keys() {
		path := state.JoinPath(block+"."+name, signal)
		if !slices.Contains(evictionSignals, signal) {
			c.errorf(path, "Unknown eviction signal", "The kubelet has no signal %q.%s", signal, didYouMeanOr(signal, evictionSignals, "It has "+list(evictionSignals)+"."))
			continue
		}
		text := m.AsMap()[signal].AsString()
		if p, ok := strings.CutSuffix(text, "%"); ok {
			if n, err := strconv.ParseFloat(p, 64); err != nil || n < 0 || n > 100 {
				c.errorf(path, "Invalid eviction threshold", "%s is no percentage from 0%% to 100%%.", Quote(text))
			}
		} else if _, err := resource.ParseQuantity(text); err != nil && text != "" {
			c.errorf(path, "Invalid eviction threshold", "%s is neither a quantity, as in \"200Mi\", nor a percentage.", Quote(text))
		}
	}
}

func (c checker) suiteList(path string, v state.Value) {
	var names []string
	for _, e := range v.AsList() {
		names = append(names, e.AsString())
	}
	c.cipherSuites(path, names)
}

// managed reports fields that kubewright sets, where another value breaks the node.
func (c checker) managed(v state.Value) {
	const block = "kubelet.config."
	if v.Get("containerRuntimeEndpoint").AsString() != "" {
		c.errorf(block+"containerRuntimeEndpoint", "Field belongs elsewhere", "The socket of the container runtime is a matter of each node. Write cri_socket in the node block.")
	}
	if rotate := v.Get("rotateCertificates"); rotate.Kind() == state.KindBool && !rotate.AsBool() {
		c.warnf(block+"rotateCertificates", "Setting has no effect", "kubeadm always sets rotateCertificates to true: otherwise kubelets lose the cluster when their certificates end.")
	}
	if p := v.Get("staticPodPath").AsString(); p != "" && p != "/etc/kubernetes/manifests" {
		c.errorf(block+"staticPodPath", "Field belongs elsewhere", "The control plane runs from /etc/kubernetes/manifests; a kubelet that looks elsewhere would not start it. Remove staticPodPath.")
	}
	if n, ok := c.number(v.Get("readOnlyPort")); ok && n != 0 {
		c.warnf(block+"readOnlyPort", "Insecure setting", "The read-only port shows pods and their environment to everybody without authentication. kubeadm sets it to 0.")
	}
	for _, e := range v.Get("clusterDNS").AsList() {
		if _, err := netip.ParseAddr(e.AsString()); err != nil {
			c.errorf(block+"clusterDNS", "Invalid address", "%s is no IP address.", Quote(e.AsString()))
		}
	}
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
		c.errorf(block+".hostnameOverride", "Field belongs elsewhere", "One configuration serves all nodes, and each is told its own name. Remove hostnameOverride.")
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
	if cl.KubeProxy.Disabled {
		c.warnf(block, "Setting has no effect", "kube-proxy is not enabled, so that its configuration is not used.")
	}
}

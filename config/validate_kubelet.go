package config

import (
	"net/netip"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"

	"github.com/kubewright/kubewright/config/componentflag"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

// kubelet checks the settings of the cluster's kubelets, or of one node's on top of the
// cluster's.
func (c checker) kubelet(k, base Kubelet) {
	c.args("kubelet", "kubelet", k.Args)
	if k.Config.IsNull() && len(k.Args) == 0 {
		return
	}
	c.kubeletFields(k.Config)
	checkKubeletFlags(c, k.Args)
	checkOverridden(c, k, base)
	var before diag.Diagnostics
	scratch := c
	scratch.out = &before
	combinations := func(c checker, v state.Value, args []Arg) {
		v, c.origins = MergeTrees(v, flagTree(args)), originsWithFlags(c.origins, args)
		c.kubeletCombinations(v)
		checkStaticPolicies(c, v, args)
	}
	if combinations(scratch, base.Config, base.Args); len(before) == 0 {
		combinations(c, MergeTrees(base.Config, k.Config), slices.Concat(base.Args, k.Args))
	}
	c.managed(k.Config)
}

// kubeletFields checks each field of a KubeletConfiguration by itself, wherever the field is
// set.
func (c checker) kubeletFields(v state.Value) {
	const block = "kubelet.config"
	c.header(block, v, kubeletconfig.SchemeGroupVersion.String(), "KubeletConfiguration")
	c.tree(block, "KubeletConfiguration", v, reflect.TypeFor[kubeletconfig.KubeletConfiguration]())
	c.rules(block, v, kubeletRules)
	c.since(v)
	c.kubeletLists(v)
	for _, path := range []string{"evictionHard", "evictionSoft", "evictionSoftGracePeriod", "evictionMinimumReclaim"} {
		c.thresholds(block, path, v)
	}
	c.suiteList(block+".tlsCipherSuites", v.Get("tlsCipherSuites"))
	c.gateMap(block+".featureGates", "kubelet", v.Get("featureGates"))
}

// header checks apiVersion and kind, which are optional.
func (c checker) header(block string, v state.Value, apiVersion, kind string) {
	c.oneOf(block+".apiVersion", "Wrong kind of configuration", v.Get("apiVersion").AsString(), apiVersion)
	c.oneOf(block+".kind", "Wrong kind of configuration", v.Get("kind").AsString(), kind)
}

// rule is what a component checks about a value at its start: one of some words, a number
// within bounds, or a duration within bounds.
type rule struct {
	path           string
	allowed        []string
	min, max       int64
	least, longest time.Duration
}

func enum(path string, allowed ...string) rule { return rule{path: path, allowed: allowed} }
func between(path string, min, max int64) rule { return rule{path: path, min: min, max: max} }
func lasting(path string, least, longest time.Duration) rule {
	return rule{path: path, least: least, longest: longest}
}
func (r rule) outside(n int64) bool { return n < r.min || n > r.max }
func (c checker) number(v state.Value) (n int64, ok bool) {
	if v.Kind() != state.KindNumber {
		return 0, false
	}
	n, err := strconv.ParseInt(v.AsString(), 10, 64)
	return n, err == nil
}

const (
	many    = 1<<31 - 1
	forever = time.Duration(1<<63 - 1)
)

// kubeletRules are the rules for single values.
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
	between("port", 0, 65535), between("readOnlyPort", 0, 65535), between("healthzPort", 0, 65535),
	between("imageGCHighThresholdPercent", 0, 100), between("imageGCLowThresholdPercent", 0, 100),
	between("maxPods", 0, many), between("podsPerCore", 0, many), between("maxOpenFiles", 0, 1<<62),
	between("oomScoreAdj", -1000, 1000), between("registryBurst", 0, many), between("registryPullQPS", 0, many),
	between("eventBurst", 0, many), between("eventRecordQPS", 0, many), between("kubeAPIBurst", 0, many),
	between("iptablesMasqueradeBit", 0, 31), between("iptablesDropBit", 0, 31), between("nodeStatusMaxImages", -1, many),
	between("containerLogMaxFiles", 2, many), between("containerLogMaxWorkers", 1, many), between("maxParallelImagePulls", 1, many),
	between("nodeLeaseDurationSeconds", 0, many),
	between("kubeAPIQPS", 0, many), between("tracing.samplingRatePerMillion", 0, 1000000),
	lasting("cpuCFSQuotaPeriod", time.Millisecond, time.Second), lasting("imageMaximumGCAge", 0, forever), lasting("syncFrequency", 0, forever),
	lasting("fileCheckFrequency", 0, forever), lasting("runtimeRequestTimeout", 0, forever),
	lasting("containerLogMonitorInterval", 3*time.Second, forever),
	lasting("crashLoopBackOff.maxContainerRestartPeriod", time.Second, 300*time.Second),
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
		if r.longest > 0 {
			c.duration(path, r, value.AsString())
			continue
		}
		if n, ok := c.number(value); ok && r.outside(n) {
			switch {
			case r.max >= many && n < r.min:
				c.errorf(path, "Value out of range", "%s is %d; it must be %d or more.", r.path, n, r.min)
			case r.max >= many: // more than its type holds, which is reported
			default:
				c.errorf(path, "Value out of range", "%s is %d; it must be from %d to %d.", r.path, n, r.min, r.max)
			}
		}
	}
}

// duration checks the bounds of a duration; an invalid one is already reported.
func (c checker) duration(path string, r rule, text string) {
	d, err := time.ParseDuration(text)
	switch {
	case err != nil || r.least <= d && d <= r.longest:
	case r.longest == forever:
		c.errorf(path, "Value out of range", "%s is %s; it must be %s or more.", r.path, text, Duration(r.least))
	default:
		c.errorf(path, "Value out of range", "%s is %s; it must be from %s to %s.", r.path, text, Duration(r.least), Duration(r.longest))
	}
}

// fieldsSince are fields that not every supported kubelet has, with their first minor version.
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
	contradict := func(path, format string, args ...any) {
		c.errorf(block+path, "Values contradict each other", format, args...)
	}
	low, okLow := c.number(v.Get("imageGCLowThresholdPercent"))
	high, okHigh := c.number(v.Get("imageGCHighThresholdPercent"))
	if !okLow {
		low = 80
	}
	if !okHigh {
		high = 85
	}
	if (okLow || okHigh) && low >= high {
		contradict("imageGCHighThresholdPercent", "imageGCLowThresholdPercent (%s) must be less than imageGCHighThresholdPercent (%s).", orDefault(low, okLow), orDefault(high, okHigh))
	}
	if youngest, oldest := lasts(v, "imageMinimumGCAge", 2*time.Minute), lasts(v, "imageMaximumGCAge", 0); oldest > 0 && oldest <= youngest {
		contradict("imageMaximumGCAge", "imageMaximumGCAge (%s) must be more than imageMinimumGCAge (%s).", Duration(oldest), Duration(youngest))
	}
	all, critical := lasts(v, "shutdownGracePeriod", 0), lasts(v, "shutdownGracePeriodCriticalPods", 0)
	if critical > all {
		contradict("shutdownGracePeriodCriticalPods", "shutdownGracePeriodCriticalPods is a part of shutdownGracePeriod and cannot be longer than that.")
	}
	if all > 0 && len(v.Get("shutdownGracePeriodByPodPriority").AsList()) > 0 {
		contradict("shutdownGracePeriodByPodPriority", "shutdownGracePeriodByPodPriority and shutdownGracePeriod exclude each other. Write one of them.")
	}
	// If serializeImagePulls is not written, the kubelet sets it to false for more than one.
	if n, ok := c.number(v.Get("maxParallelImagePulls")); ok && n > 1 && v.Get("serializeImagePulls").AsBool() {
		contradict("maxParallelImagePulls", "maxParallelImagePulls is %d while serializeImagePulls is true, and the kubelet would not start. Remove serializeImagePulls, or write 1.", n)
	}
	if v.Get("systemCgroups").AsString() != "" && v.Get("cgroupRoot").AsString() == "" {
		contradict("systemCgroups", "systemCgroups needs cgroupRoot, which is not written, and the kubelet would not start. Add cgroupRoot = \"/\", or remove systemCgroups.")
	}
	if v.Get("enableSystemLogQuery").AsBool() && isFalse(v.Get("enableSystemLogHandler")) {
		contradict("enableSystemLogQuery", "enableSystemLogQuery needs enableSystemLogHandler, which is false, and the kubelet would not start. Remove one of them.")
	}
	if v.Get("reservedSystemCPUs").AsString() != "" && (v.Get("systemReservedCgroup").AsString() != "" || v.Get("kubeReservedCgroup").AsString() != "") {
		contradict("reservedSystemCPUs", "reservedSystemCPUs excludes systemReservedCgroup and kubeReservedCgroup, and the kubelet would not start. Remove it, or those.")
	}
	if len(v.Get("preloadedImagesVerificationAllowlist").AsList()) > 0 && v.Get("imagePullCredentialsVerificationPolicy").AsString() != "NeverVerifyAllowlistedImages" {
		contradict("preloadedImagesVerificationAllowlist", "preloadedImagesVerificationAllowlist is for the imagePullCredentialsVerificationPolicy \"NeverVerifyAllowlistedImages\" alone, and the kubelet would not start. Write that, or remove the list.")
	}
	if cert, key := v.Get("tlsCertFile").AsString(), v.Get("tlsPrivateKeyFile").AsString(); (cert == "") != (key == "") {
		contradict("tlsCertFile", "tlsCertFile and tlsPrivateKeyFile go together, and one of them is not written: the kubelet would not start. Write both, or none.")
	}
	for _, x := range componentflag.KubeletFields(v, c.minor) {
		contradict(x.Flag, "%s", x.Text(c.show(block+x.Flag, "")))
	}
	c.gracePeriods(v)
	c.enforcement(v)
}

// checkStaticPolicies checks that static policies have what they share out: a kubelet would not start
// (pkg/kubelet/cm/cpumanager: NewStaticPolicy, memorymanager: NewPolicyStatic).
func checkStaticPolicies(c checker, v state.Value, args []Arg) {
	cpus := v.Get("reservedSystemCPUs").AsString() != ""
	for _, name := range []string{"systemReserved", "kubeReserved"} {
		q, err := resource.ParseQuantity(v.Get(name).Get("cpu").AsString())
		cpus = cpus || err == nil && q.Sign() > 0
	}
	if v.Get("cpuManagerPolicy").AsString() == "static" && !cpus {
		c.errorf("kubelet.config.cpuManagerPolicy", "CPUs are not reserved", "The static policy needs CPUs that it gives to no container, and the kubelet would not start. Write reservedSystemCPUs = \"0\", or cpu in kubeReserved or systemReserved.")
	}
	reserved := slices.ContainsFunc(args, func(a Arg) bool { return componentflag.FlagName("kubelet", a.Name) == "reserved-memory" })
	if v.Get("memoryManagerPolicy").AsString() == "Static" && len(v.Get("reservedMemory").AsList()) == 0 && !reserved {
		c.errorf("kubelet.config.memoryManagerPolicy", "Memory is not reserved", "The Static policy needs the memory of each NUMA node that it gives to no container, and the kubelet would not start. Write reservedMemory = [{ numaNode = 0, limits = { memory = \"…\" } }], in sum kubeReserved, systemReserved and the hard eviction threshold.")
	}
}

// lasts returns a duration of a configuration, or the default if none is written.
func lasts(v state.Value, path string, otherwise time.Duration) time.Duration {
	if d, err := time.ParseDuration(v.Get(path).AsString()); err == nil && d != 0 {
		return d
	}
	return otherwise
}

// isFalse reports whether a value is written and false.
func isFalse(v state.Value) bool { return v.Kind() == state.KindBool && !v.AsBool() }

// gracePeriods checks that each soft threshold has its grace period (pkg/kubelet/eviction:
// ParseThresholdConfig). Thresholds of 0% and 100% are ignored.
func (c checker) gracePeriods(v state.Value) {
	soft, periods := v.Get("evictionSoft").AsMap(), v.Get("evictionSoftGracePeriod").AsMap()
	for _, signal := range keys(soft) {
		_, given := periods[signal]
		text := soft[signal].AsString()
		if !given && text != "0%" && text != "100%" && slices.Contains(evictionSignals, signal) {
			c.errorf(state.JoinPath("kubelet.config.evictionSoft", signal), "Grace period is missing", "Each threshold of evictionSoft needs how long it may be crossed, and the kubelet would not start. Write evictionSoftGracePeriod = { %q = \"1m30s\" } beside it, or take it into evictionHard.", signal)
		}
	}
}

// enforcement checks what enforceNodeAllocatable requires of other fields.
func (c checker) enforcement(v state.Value) {
	const path, summary = "kubelet.config.enforceNodeAllocatable", "Values contradict each other"
	var names []string
	for _, e := range v.Get("enforceNodeAllocatable").AsList() {
		if slices.Contains(names, e.AsString()) {
			c.errorf(path, summary, "%q is listed twice, and the kubelet would not start. Take one of the two out.", e.AsString())
		}
		names = append(names, e.AsString())
	}
	if slices.Contains(names, "none") {
		if slices.ContainsFunc(names, func(n string) bool { return n != "none" }) {
			c.errorf(path, summary, "\"none\" cannot be combined with others, and the kubelet would not start. Write it alone, or remove it.")
		}
		return
	}
	if isFalse(v.Get("cgroupsPerQOS")) && (len(names) > 0 || v.Get("enforceNodeAllocatable").IsNull()) { // the default is pods
		c.errorf("kubelet.config.cgroupsPerQOS", summary, "What enforceNodeAllocatable says needs cgroupsPerQOS, and the kubelet would not start. Write enforceNodeAllocatable = [\"none\"], or remove cgroupsPerQOS.")
	}
	for _, x := range []struct{ name, cgroup string }{{"system-reserved", "systemReservedCgroup"}, {"kube-reserved", "kubeReservedCgroup"}} {
		whole, part := slices.Contains(names, x.name), slices.Contains(names, x.name+"-compressible")
		if whole && part {
			c.errorf(path, summary, "%q and %q exclude each other, and the kubelet would not start. Take one of them out.", x.name, x.name+"-compressible")
		}
		if (whole || part) && v.Get(x.cgroup).AsString() == "" {
			c.errorf(path, summary, "%q is enforced on the cgroup that %s names, which is not written, and the kubelet would not start. Add %s.", x.name, x.cgroup, x.cgroup)
		}
	}
}

// orDefault returns a number for a message, which says so if it is the default.
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
		c.reserved(block+name, v.Get(name))
	}
	for _, taint := range v.Get("registerWithTaints").AsList() {
		effect := taint.Get("effect").AsString()
		if effect == "" {
			effect = "NoSchedule" // the kubelet also accepts none
		}
		c.kubeletTaints(block+"registerWithTaints", taint.Get("key").AsString()+"="+taint.Get("value").AsString()+":"+effect)
	}
	if v.Get("runOnce").AsBool() {
		c.errorf(block+"runOnce", "Invalid value", "The kubelet no longer supports runOnce, and would not start. Remove it.")
	}
	if dir := v.Get("podLogsDir").AsString(); dir != "" && (!path.IsAbs(dir) || path.Clean(dir) != dir) {
		c.errorf(block+"podLogsDir", "Path is not plain", "%s is a path on the hosts: it must begin with a slash, and hold no empty or relative parts.", Quote(dir))
	}
}

// reservable are the resources that can be reserved (cmd/kubelet: parseResourceList).
var reservable = []string{"cpu", "memory", "ephemeral-storage", "pid"}

// reserved checks the reservations for the system or for Kubernetes.
func (c checker) reserved(block string, v state.Value) {
	for _, k := range v.Keys() {
		path, text := state.JoinPath(block, k), v.AsMap()[k].AsString()
		q, err := resource.ParseQuantity(text)
		switch {
		case !slices.Contains(reservable, k):
			c.errorf(path, "Unknown resource", "The kubelet cannot reserve %q, and would not start.%s", k, didYouMeanOr(k, reservable, "It reserves "+list(reservable)+"."))
		case err != nil:
			c.errorf(path, "Invalid quantity", "%s is no quantity, as in \"500m\" or \"1Gi\".", Quote(text))
		case q.Sign() < 0:
			c.errorf(path, "Invalid quantity", "%s is negative, and the kubelet would not start. Write the amount to reserve.", Quote(text))
		}
	}
}

// evictionSignals are the names of thresholds on Linux.
var evictionSignals = []string{"memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree", "containerfs.available", "containerfs.inodesFree", "allocatableMemory.available", "pid.available"}

// thresholds checks signals and their quantities or percentages, or grace periods.
func (c checker) thresholds(block, name string, v state.Value) {
	m := v.Get(name)
	for _, signal := range m.Keys() {
		path := state.JoinPath(block+"."+name, signal)
		if !slices.Contains(evictionSignals, signal) {
			c.errorf(path, "Unknown eviction signal", "The kubelet has no signal %q.%s", signal, didYouMeanOr(signal, evictionSignals, "It has "+list(evictionSignals)+"."))
			continue
		}
		text := m.AsMap()[signal].AsString()
		if p, ok := strings.CutSuffix(text, "%"); ok && name != "evictionSoftGracePeriod" {
			if n, err := strconv.ParseFloat(p, 64); err != nil || n < 0 || n > 100 {
				c.errorf(path, "Invalid eviction threshold", "%s is no percentage from 0%% to 100%%.", Quote(text))
			}
			continue
		}
		if name == "evictionSoftGracePeriod" {
			if d, err := time.ParseDuration(text); text != "" && (err != nil || d < 0) {
				c.errorf(path, "Invalid grace period", "%s is no duration, as in \"1m30s\".", Quote(text))
			}
			continue
		}
		if q, err := resource.ParseQuantity(text); text != "" && (err != nil || q.Sign() < 0 || q.IsZero() && name != "evictionMinimumReclaim") {
			c.errorf(path, "Invalid eviction threshold", "%s is neither a quantity above zero, as in \"200Mi\", nor a percentage.", Quote(text))
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

// managed reports fields that kubewright sets, and with which another value breaks the node.
func (c checker) managed(v state.Value) {
	const block = "kubelet.config."
	for _, field := range keys(ownedFields) {
		owned := ownedFields[field]
		if given := v.Get(field); field != "rotateCertificates" && !given.IsNull() && !given.Equal(state.String("")) && !owned.keeps(given) {
			c.errorf(block+field, "Field belongs elsewhere", "%s", owned.why)
		}
	}
	if rotate := v.Get("rotateCertificates"); rotate.Kind() == state.KindBool && !rotate.AsBool() {
		c.warnf(block+"rotateCertificates", "Setting has no effect", "kubeadm always sets rotateCertificates to true: otherwise kubelets lose the cluster when their certificates expire.")
	}
	if n, ok := c.number(v.Get("readOnlyPort")); ok && n != 0 {
		c.warnf(block+"readOnlyPort", "Insecure setting", "The read-only port shows pods and their environment to any client without authentication. kubeadm sets it to 0.")
	}
	for _, e := range v.Get("clusterDNS").AsList() {
		if _, err := netip.ParseAddr(e.AsString()); err != nil {
			c.errorf(block+"clusterDNS", "Invalid address", "%s is no IP address.", Quote(e.AsString()))
		}
	}
}

package componentflag

import (
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubewright/kubewright/state"
)

// KubeletFields returns what the kubelet refuses of its configuration beyond single values: the paths of
// fields, and why.
func KubeletFields(v state.Value, minor int) []Conflict {
	f := &fields{component: "the kubelet", minor: minor, v: v}
	f.suites()
	f.vmodule()
	for _, e := range v.Get("allowedUnsafeSysctls").AsList() {
		if !namespaced(e.AsString(), minor) {
			f.refuse("allowedUnsafeSysctls", "%q is no sysctl that a pod can have for itself, as in net.* or kernel.msg*", e.AsString())
		}
	}
	if len(v.Get("cpuManagerPolicyOptions").AsMap()) > 0 && v.Get("cpuManagerPolicy").AsString() != "static" {
		f.refuse("cpuManagerPolicyOptions", "cpuManagerPolicyOptions are for cpuManagerPolicy = \"static\" alone")
	}
	for name, on := range v.Get("cpuManagerPolicyOptions").AsMap() {
		if _, err := strconv.ParseBool(on.AsString()); err != nil || !slices.Contains(cpuOptions, name) {
			f.refuse("cpuManagerPolicyOptions", "%s = %q is none of its options, which are true or false: %s", name, on.AsString(), strings.Join(cpuOptions, ", "))
		}
	}
	f.kubeletValues()
	f.gates("kubelet")
	f.gated()
	for _, e := range v.Get("tlsCurvePreferences").AsList() {
		if !slices.Contains(curves, e.AsString()) {
			f.refuse("tlsCurvePreferences", "%s is no curve that Go has: %s", e.AsString(), strings.Join(curves, ", "))
		}
	}
	return f.out
}

// cpuOptions are the options of the static CPU manager (pkg/kubelet/cm/cpumanager).
var cpuOptions = []string{"full-pcpus-only", "distribute-cpus-across-numa", "align-by-socket", "distribute-cpus-across-cores", "strict-cpu-reservation", "prefer-align-cpus-by-uncorecache"}

var cpuSet = matching(`([0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*)?`)

// kubeletValues refuses values of single fields (pkg/kubelet/apis/config/validation).
func (f *fields) kubeletValues() {
	if s := f.v.Get("containerLogMaxSize").AsString(); s != "" && !Types["quantity"].Reads(s) {
		f.refuse("containerLogMaxSize", "%q is no quantity, as in 10Mi", s)
	}
	if s := f.v.Get("reservedSystemCPUs").AsString(); !cpuSet(s) {
		f.refuse("reservedSystemCPUs", "%q is not numbers and ranges of CPUs, as in 0-1,3", s)
	}
	if s := f.v.Get("showHiddenMetricsForVersion").AsString(); !previous(s, f.minor) {
		f.refuse("showHiddenMetricsForVersion", "%q is not the previous minor version, 1.%d", s, f.minor-1)
	}
	for _, path := range []string{"tracing.endpoint", "imageServiceEndpoint"} {
		if s := f.v.Get(path).AsString(); strings.ContainsAny(s, " \t") {
			f.refuse(path, "%q holds a blank", s)
		}
	}
	if d, err := time.ParseDuration(f.v.Get("shutdownGracePeriod").AsString()); err == nil && d > 0 && d < time.Second {
		f.refuse("shutdownGracePeriod", "shutdownGracePeriod is %s; it must be 0 or 1s at least", d)
	}
	if d, err := time.ParseDuration(f.v.Get("imageMinimumGCAge").AsString()); err == nil && d < 0 && (f.minor == 0 || f.minor >= 36) {
		f.refuse("imageMinimumGCAge", "imageMinimumGCAge is %s; it must not be negative", d)
	}
	if d, err := time.ParseDuration(f.v.Get("cpuCFSQuotaPeriod").AsString()); err == nil && d != 0 && d != 100*time.Millisecond && !f.isOn("CustomCPUCFSQuotaPeriod") {
		f.needs("cpuCFSQuotaPeriod", "a cpuCFSQuotaPeriod other than 100ms", "CustomCPUCFSQuotaPeriod")
	}
	if s := f.v.Get("memoryThrottlingFactor"); s.Kind() == state.KindNumber {
		switch n, ok := amount(s.AsString()); {
		case ok && (n <= 0 || n > 1):
			f.refuse("memoryThrottlingFactor", "memoryThrottlingFactor is %v; it must be above 0, and 1 at most", n)
		case ok && f.minor >= 37 && n != 0.9 && !f.isOn("MemoryQoS"):
			f.needs("memoryThrottlingFactor", "memoryThrottlingFactor", "MemoryQoS")
		}
	}
	f.podSysctls()
	if s := f.v.Get("userNamespaces.idsPerPod"); s.Kind() == state.KindNumber {
		if n, ok := amount(s.AsString()); ok && (n < 65536 || n >= 1<<32 || int64(n)%65536 != 0) {
			f.refuse("userNamespaces.idsPerPod", "userNamespaces.idsPerPod is %v; it must be a multiple of 65536", n)
		}
	}
	for name := range f.v.Get("qosReserved").AsMap() {
		if name != "memory" {
			f.refuse("qosReserved", "%q cannot be reserved for a class of pods, only memory", name)
		}
	}
	if f.v.Get("memoryReservationPolicy").AsString() == "TieredReservation" && !f.isOn("MemoryQoS") {
		f.needs("memoryReservationPolicy", "TieredReservation", "MemoryQoS")
	}
}

// gatedFields are fields that the kubelet takes only while a feature gate is on, before the minor version in
// which the gate is no longer asked; 0 if it always is (pkg/kubelet/apis/config/validation,
// pkg/kubelet/cm/cpumanager: policy_options.go).
var gatedFields = []struct {
	path, gate string
	before     int
}{
	{"crashLoopBackOff.maxContainerRestartPeriod", "KubeletCrashLoopBackOffMax", 0},
	{"imagePullCredentialsVerificationPolicy", "KubeletEnsureSecretPulledImages", 0},
	{"imageMaximumGCAge", "ImageMaximumGCAge", 35},
	{"shutdownGracePeriod", "GracefulNodeShutdown", 0},
	{"shutdownGracePeriodCriticalPods", "GracefulNodeShutdown", 0},
	{"shutdownGracePeriodByPodPriority", "GracefulNodeShutdownBasedOnPodPriority", 0},
	{"serverTLSBootstrap", "RotateKubeletServerCertificate", 0},
	{"enableSystemLogQuery", "NodeLogQuery", 36},
	{"logging.options.json.infoBufferSize", "LoggingAlphaOptions", 0},
	{"cpuManagerPolicyOptions.align-by-socket", "CPUManagerPolicyAlphaOptions", 0},
	{"cpuManagerPolicyOptions.distribute-cpus-across-cores", "CPUManagerPolicyAlphaOptions", 0},
	{"cpuManagerPolicyOptions.distribute-cpus-across-numa", "CPUManagerPolicyBetaOptions", 0},
	{"cpuManagerPolicyOptions.strict-cpu-reservation", "CPUManagerPolicyBetaOptions", 35},
	{"cpuManagerPolicyOptions.prefer-align-cpus-by-uncorecache", "CPUManagerPolicyBetaOptions", 36},
}

// gated refuses fields whose feature gate is off.
func (f *fields) gated() {
	for _, x := range gatedFields {
		if (x.before == 0 || f.minor < x.before) && isSet(f.v.Get(x.path)) && !f.isOn(x.gate) {
			f.needs(x.path, x.path, x.gate)
		}
	}
	f.logFormat()
}

// logFormat refuses logs in JSON without their feature gate (k8s.io/component-base/logs/api/v1: Validate).
func (f *fields) logFormat() {
	if f.v.Get("logging.format").AsString() == "json" && !f.isOn("LoggingBetaOptions") {
		f.needs("logging.format", "the format json", "LoggingBetaOptions")
	}
}

// isSet reports whether a field has a value that is not the zero one.
func isSet(v state.Value) bool {
	switch v.Kind() {
	case state.KindBool:
		return v.AsBool()
	case state.KindString:
		d, err := time.ParseDuration(v.AsString())
		return v.AsString() != "" && (err != nil || d != 0)
	case state.KindNumber:
		n, ok := amount(v.AsString())
		return !ok || n != 0
	case state.KindList:
		return len(v.AsList()) > 0
	}
	return !v.IsNull()
}

// podSysctls refuses sysctls for all pods that no pod can have for itself, or without their gate.
func (f *fields) podSysctls() {
	sysctls := f.v.Get("defaultPodSysctls").AsMap()
	if len(sysctls) > 0 && !f.isOn("DefaultPodSysctls") {
		f.needs("defaultPodSysctls", "defaultPodSysctls", "DefaultPodSysctls")
		return
	}
	known := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(sysctls)) {
		plain := strings.ReplaceAll(name, "/", ".")
		switch {
		case !namespaced(name, f.minor) || strings.Contains(name, "*"):
			f.refuse("defaultPodSysctls", "%q is no sysctl that a pod can have for itself, as net.core.somaxconn is", name)
		case known[plain]:
			f.refuse("defaultPodSysctls", "%s is set twice, with dots and with slashes", plain)
		}
		known[plain] = true
	}
}

// namespaced reports whether the kernel keeps a sysctl for each namespace, as the kubelet knows it
// (pkg/kubelet/sysctl).
func namespaced(name string, minor int) bool {
	return inNamespaces(name) || minor >= 37 && strings.ReplaceAll(name, "/", ".") == "kernel.domainname"
}

var inNamespaces = matching(`kernel[./]sem|kernel[./](shm|msg)[a-z0-9_*]*|fs[./]mqueue[./]([a-z0-9_]*\*?)|net[./][a-z0-9_./*-]+`)

// ProxyFields returns what kube-proxy refuses of its configuration beyond single values.
func ProxyFields(v state.Value, minor int) []Conflict {
	f := &fields{component: "kube-proxy", minor: minor, v: v}
	f.vmodule()
	f.gates("kube-proxy")
	f.logFormat()
	if _, port, err := net.SplitHostPort(v.Get("metricsBindAddress").AsString()); err == nil && port == "0" {
		f.refuse("metricsBindAddress", "0 is no port to listen on")
	}
	if s := v.Get("showHiddenMetricsForVersion").AsString(); !previous(s, minor) {
		f.refuse("showHiddenMetricsForVersion", "%q is not the previous minor version, 1.%d", s, minor-1)
	}
	for _, mode := range []string{"iptables", "ipvs", "nftables"} {
		for _, name := range []string{"minSyncPeriod", "syncPeriod"} {
			path := mode + "." + name
			if d, err := time.ParseDuration(v.Get(path).AsString()); err == nil && d < 0 && f.mode() == mode {
				f.refuse(path, "%s is negative", path)
			}
		}
	}
	if bit, err := strconv.Atoi(v.Get("nftables.masqueradeBit").AsString()); err == nil && f.mode() == "nftables" && (bit < 0 || bit > 31) {
		f.refuse("nftables.masqueradeBit", "nftables.masqueradeBit is %d; it must be from 0 to 31", bit)
	}
	if v.Get("mode").AsString() == "ipvs" && minor >= 37 && !f.isOn("KubeProxyIPVS") {
		f.needs("mode", "ipvs", "KubeProxyIPVS")
	}
	addresses := v.Get("nodePortAddresses").AsList()
	for i, e := range addresses {
		word := slices.Contains([]string{"primary", "localhost", "all"}, e.AsString())
		if minor >= 37 && word && slices.ContainsFunc(addresses[:i], e.Equal) {
			f.refuse("nodePortAddresses", "%q is listed twice", e.AsString())
		}
	}
	if len(addresses) > 1 && minor < 37 && slices.ContainsFunc(addresses, func(e state.Value) bool { return e.AsString() == "primary" }) {
		f.refuse("nodePortAddresses", "\"primary\" stands alone: it cannot be combined with subnets")
	}
	return f.out
}

// fields are the fields of a component's configuration.
type fields struct {
	component string
	minor     int // of Kubernetes; 0 if it is not known
	v         state.Value
	out       []Conflict
}

func (f *fields) refuse(path, format string, args ...any) {
	f.out = append(f.out, Conflict{path, fmt.Sprintf(format, args...) + ", and " + f.component + " would not start."})
}

// needs refuses a field whose feature gate is off.
func (f *fields) needs(path, what, gate string) {
	f.out = append(f.out, Conflict{path, fmt.Sprintf("%s needs the feature gate %s, which is off, and %s would not start. Turn it on, or remove %s.", what, gate, f.component, path)})
}

func (f *fields) mode() string {
	if mode := f.v.Get("mode").AsString(); mode != "" {
		return mode
	}
	return "iptables"
}

// gateSet are the feature gates that are set.
func (f *fields) gateSet() map[string]bool {
	set := map[string]bool{}
	for name, on := range f.v.Get("featureGates").AsMap() {
		set[name] = on.AsBool()
	}
	return set
}

// isOn reports whether a feature gate is on, as far as the version and the configuration say.
func (f *fields) isOn(gate string) bool {
	return f.minor == 0 || isOn(needsOf(f.minor), f.gateSet(), gate)
}

// gates refuses feature gates without those that they need.
func (f *fields) gates(component string) {
	for _, x := range UnmetNeeds(component, f.gateSet(), f.minor) {
		f.out = append(f.out, Conflict{"featureGates", x.Why})
	}
}

// vmodule refuses verbosities for no file (k8s.io/component-base/logs/api/v1: Validate).
func (f *fields) vmodule() {
	for _, e := range f.v.Get("logging.vmodule").AsList() {
		if p := e.Get("filePattern").AsString(); p == "" || strings.ContainsAny(p, "=,") {
			f.refuse("logging.vmodule", "%q is no pattern of file names", p)
		}
	}
}

// suites refuses cipher suites without those that HTTP/2 needs below TLS 1.3.
func (f *fields) suites() {
	var names []string
	for _, e := range f.v.Get("tlsCipherSuites").AsList() {
		names = append(names, e.AsString())
	}
	switch {
	case slices.Contains(names, ""):
		f.refuse("tlsCipherSuites", "an element is empty")
	case slices.ContainsFunc(names, isUnknownSuite): // reported by itself
	case len(names) > 0 && f.v.Get("tlsMinVersion").AsString() != "VersionTLS13" && !slices.ContainsFunc(names, isHTTP2Suite):
		f.refuse("tlsCipherSuites", "HTTP/2 needs %s or %s", http2Suites[0], http2Suites[1])
	}
}

var http2Suites = []string{"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"}

// isUnknownSuite reports whether Go does not know a suite of that name.
func isUnknownSuite(name string) bool {
	return !slices.ContainsFunc(slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites()), func(s *tls.CipherSuite) bool {
		return s.Name == strings.TrimSpace(name)
	})
}

func isHTTP2Suite(name string) bool { return slices.Contains(http2Suites, strings.TrimSpace(name)) }

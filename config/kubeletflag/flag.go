package kubeletflag

import (
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/state"
)

// kind says how the value of a flag is written.
type kind int

const (
	text    kind = iota // also a duration or a quantity
	number              // a whole one
	boolean             // true, or whatever strconv.ParseBool takes
	list                // A,B
	pairs               // A=B,C=D
	limits              // A<B,C<D
)

// A flag overrides a field, given by its path.
type flag struct {
	field string
	kind  kind
}

// flags are those of which values of the field can stop the kubelet, by name.
var flags = map[string]flag{
	"authorization-mode":                {"authorization.mode", text},
	"cgroup-root":                       {"cgroupRoot", text},
	"cgroups-per-qos":                   {"cgroupsPerQOS", boolean},
	"container-log-max-files":           {"containerLogMaxFiles", number},
	"container-log-max-size":            {"containerLogMaxSize", text},
	"cpu-cfs-quota-period":              {"cpuCFSQuotaPeriod", text},
	"cpu-manager-policy":                {"cpuManagerPolicy", text},
	"enforce-node-allocatable":          {"enforceNodeAllocatable", list},
	"event-burst":                       {"eventBurst", number},
	"event-qps":                         {"eventRecordQPS", number},
	"eviction-hard":                     {"evictionHard", limits},
	"eviction-minimum-reclaim":          {"evictionMinimumReclaim", pairs},
	"eviction-soft":                     {"evictionSoft", limits},
	"eviction-soft-grace-period":        {"evictionSoftGracePeriod", pairs},
	"hairpin-mode":                      {"hairpinMode", text},
	"image-gc-high-threshold":           {"imageGCHighThresholdPercent", number},
	"image-gc-low-threshold":            {"imageGCLowThresholdPercent", number},
	"kube-api-burst":                    {"kubeAPIBurst", number},
	"kube-api-qps":                      {"kubeAPIQPS", number},
	"kube-reserved":                     {"kubeReserved", pairs},
	"kube-reserved-cgroup":              {"kubeReservedCgroup", text},
	"logging-format":                    {"logging.format", text},
	"max-open-files":                    {"maxOpenFiles", number},
	"max-pods":                          {"maxPods", number},
	"memory-manager-policy":             {"memoryManagerPolicy", text},
	"minimum-image-ttl-duration":        {"imageMinimumGCAge", text},
	"node-status-max-images":            {"nodeStatusMaxImages", number},
	"oom-score-adj":                     {"oomScoreAdj", number},
	"pod-max-pids":                      {"podPidsLimit", number},
	"pods-per-core":                     {"podsPerCore", number},
	"port":                              {"port", number},
	"read-only-port":                    {"readOnlyPort", number},
	"registry-burst":                    {"registryBurst", number},
	"registry-qps":                      {"registryPullQPS", number},
	"reserved-cpus":                     {"reservedSystemCPUs", text},
	"runtime-request-timeout":           {"runtimeRequestTimeout", text},
	"serialize-image-pulls":             {"serializeImagePulls", boolean},
	"streaming-connection-idle-timeout": {"streamingConnectionIdleTimeout", text},
	"system-cgroups":                    {"systemCgroups", text},
	"system-reserved":                   {"systemReserved", pairs},
	"system-reserved-cgroup":            {"systemReservedCgroup", text},
	"tls-cert-file":                     {"tlsCertFile", text},
	"tls-cipher-suites":                 {"tlsCipherSuites", list},
	"tls-min-version":                   {"tlsMinVersion", text},
	"tls-private-key-file":              {"tlsPrivateKeyFile", text},
	"topology-manager-policy":           {"topologyManagerPolicy", text},
	"topology-manager-scope":            {"topologyManagerScope", text},
}

// Field returns the path of the field that a flag overrides; empty for one that overrides none, or one
// of which every value is as good.
func Field(name string) string { return flags[name].field }

// Tree returns the configuration that a flag amounts to; null if it overrides no field, or if its value
// is none of its kind.
func Tree(name, value string) state.Value {
	f, known := flags[name]
	if !known {
		return state.Null()
	}
	v, ok := f.kind.read(value)
	if !ok {
		return state.Null()
	}
	path := strings.Split(f.field, ".")
	for i := len(path) - 1; i >= 0; i-- {
		v = map[string]any{path[i]: v}
	}
	return state.FromGo(v)
}

// read returns a value as encoding/json would decode that of the field.
func (k kind) read(value string) (any, bool) {
	switch k {
	case number:
		n, err := strconv.ParseInt(value, 0, 64)
		return n, err == nil
	case boolean:
		b, err := strconv.ParseBool(value)
		return b, err == nil
	case list:
		var out []any
		for _, word := range strings.Split(value, ",") {
			out = append(out, strings.TrimSpace(word))
		}
		return out, value != ""
	case pairs, limits:
		return k.readPairs(value)
	}
	return value, true
}

func (k kind) readPairs(value string) (any, bool) {
	separator, out := "=", map[string]any{}
	if k == limits {
		separator = "<"
	}
	for _, pair := range strings.Split(value, ",") {
		name, v, ok := strings.Cut(pair, separator)
		if !ok {
			return nil, strings.TrimSpace(pair) == "" && len(out) > 0
		}
		out[strings.TrimSpace(name)] = strings.TrimSpace(v)
	}
	return out, true
}

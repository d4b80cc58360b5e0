package componentflag

import (
	"slices"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/state"
)

// kubeletFields are the paths of fields of the kubelet's configuration that flags override, of those with
// whose values it may not start (cmd/kubelet/app/options: AddKubeletConfigFlags), by flag.
var kubeletFields = map[string]string{
	"authorization-mode":                "authorization.mode",
	"cgroup-root":                       "cgroupRoot",
	"cgroups-per-qos":                   "cgroupsPerQOS",
	"container-log-max-files":           "containerLogMaxFiles",
	"container-log-max-size":            "containerLogMaxSize",
	"cpu-cfs-quota-period":              "cpuCFSQuotaPeriod",
	"cpu-manager-policy":                "cpuManagerPolicy",
	"cpu-manager-policy-options":        "cpuManagerPolicyOptions",
	"enforce-node-allocatable":          "enforceNodeAllocatable",
	"event-burst":                       "eventBurst",
	"event-qps":                         "eventRecordQPS",
	"eviction-hard":                     "evictionHard",
	"eviction-minimum-reclaim":          "evictionMinimumReclaim",
	"eviction-soft":                     "evictionSoft",
	"eviction-soft-grace-period":        "evictionSoftGracePeriod",
	"feature-gates":                     "featureGates",
	"hairpin-mode":                      "hairpinMode",
	"image-gc-high-threshold":           "imageGCHighThresholdPercent",
	"image-gc-low-threshold":            "imageGCLowThresholdPercent",
	"kube-api-burst":                    "kubeAPIBurst",
	"kube-api-qps":                      "kubeAPIQPS",
	"kube-reserved":                     "kubeReserved",
	"kube-reserved-cgroup":              "kubeReservedCgroup",
	"logging-format":                    "logging.format",
	"max-open-files":                    "maxOpenFiles",
	"max-pods":                          "maxPods",
	"memory-manager-policy":             "memoryManagerPolicy",
	"minimum-image-ttl-duration":        "imageMinimumGCAge",
	"node-status-max-images":            "nodeStatusMaxImages",
	"oom-score-adj":                     "oomScoreAdj",
	"pod-max-pids":                      "podPidsLimit",
	"pods-per-core":                     "podsPerCore",
	"port":                              "port",
	"read-only-port":                    "readOnlyPort",
	"registry-burst":                    "registryBurst",
	"registry-qps":                      "registryPullQPS",
	"reserved-cpus":                     "reservedSystemCPUs",
	"runtime-request-timeout":           "runtimeRequestTimeout",
	"serialize-image-pulls":             "serializeImagePulls",
	"streaming-connection-idle-timeout": "streamingConnectionIdleTimeout",
	"system-cgroups":                    "systemCgroups",
	"system-reserved":                   "systemReserved",
	"system-reserved-cgroup":            "systemReservedCgroup",
	"tls-cert-file":                     "tlsCertFile",
	"tls-cipher-suites":                 "tlsCipherSuites",
	"tls-min-version":                   "tlsMinVersion",
	"tls-private-key-file":              "tlsPrivateKeyFile",
	"topology-manager-policy":           "topologyManagerPolicy",
	"topology-manager-scope":            "topologyManagerScope",
}

// KubeletField returns the path of the field that a flag of the kubelet overrides; empty for one that
// overrides none, or one of which every value is as good.
func KubeletField(flag string) string { return kubeletFields[flag] }

// KubeletTree returns the configuration that a flag of the kubelet amounts to; null if it overrides no
// field, or if its value is none of its type.
func KubeletTree(flag, value string) state.Value {
	field := kubeletFields[flag]
	v, ok := asField(Flags["kubelet"][flag].Type, value)
	if field == "" || !ok {
		return state.Null()
	}
	path := strings.Split(field, ".")
	for _, name := range slices.Backward(path) {
		v = map[string]any{name: v}
	}
	return state.FromGo(v)
}

// asField returns the value of a flag of a type as encoding/json would decode that of its field.
func asField(of, value string) (any, bool) {
	kind, _, _ := strings.Cut(of, ":")
	switch kind {
	case "int", "int32":
		n, err := strconv.ParseInt(value, 0, 64)
		return n, err == nil
	case "bool":
		b, err := strconv.ParseBool(value)
		return b, err == nil
	case "list", "some", "suites":
		out := []any{}
		for _, word := range strings.Split(value, ",") {
			if value != "" {
				out = append(out, strings.TrimSpace(word))
			}
		}
		return out, true
	case "gates":
		out := map[string]any{}
		for name, on := range GatesOf(value) {
			out[name] = on
		}
		return out, len(out) > 0
	case "pairs", "pair":
		return readPairs(value, "=")
	case "thresholds":
		return readPairs(value, "<")
	}
	return value, true
}

func readPairs(value, separator string) (any, bool) {
	out := map[string]any{}
	for _, pair := range strings.Split(value, ",") {
		name, v, ok := strings.Cut(pair, separator)
		switch {
		case strings.TrimSpace(pair) == "": // as behind a last comma
			continue
		case !ok:
			return nil, false
		}
		out[strings.TrimSpace(name)] = strings.TrimSpace(v)
	}
	return out, len(out) > 0
}

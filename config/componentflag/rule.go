package componentflag

import (
	"math"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A rule is what a component requires of the values of a flag, besides their type.
type rule struct {
	// components are the names of components, in words; kube stands for all but etcd.
	components string
	flags      string
	// takes says what to write, for a message.
	takes string
	keeps func(value string, minor int) bool
}

// Takes returns what a component takes as the value of a flag, if it does not take the given one,
// which has the flag's type; empty if it does.
func Takes(component, flag, value string, minor int) string {
	for _, r := range rules {
		if r.of(component) && slices.Contains(strings.Fields(r.flags), flag) && !r.keeps(value, minor) {
			return r.takes
		}
	}
	return ""
}

// OfMember reports whether a flag of etcd names a member to the others, so that no etcd takes another value
// than kubewright writes.
func OfMember(flag string) bool {
	return slices.Contains([]string{"name", "initial-cluster", "initial-advertise-peer-urls"}, flag)
}

func (r rule) of(component string) bool {
	return slices.ContainsFunc(strings.Fields(r.components), func(name string) bool {
		return name == component || name == "kube" && component != "etcd"
	})
}

// plain makes a function of a version out of one that does not depend on it.
func plain(keeps func(string) bool) func(string, int) bool {
	return func(value string, _ int) bool { return keeps(value) }
}

// since is for a rule that a minor version began.
func since(first int, keeps func(string, int) bool) func(string, int) bool {
	return func(value string, minor int) bool { return minor != 0 && minor < first || keeps(value, minor) }
}

// amount returns a number, or a duration in seconds.
func amount(value string) (float64, bool) {
	if n, err := strconv.ParseInt(value, 0, 64); err == nil {
		return float64(n), true
	}
	if f, err := strconv.ParseFloat(value, 64); err == nil {
		return f, true
	}
	d, err := time.ParseDuration(value)
	return d.Seconds(), err == nil
}

// within keeps numbers and durations from the least to the most; others are not its concern.
func within(least, most float64) func(string, int) bool {
	return func(value string, _ int) bool {
		n, ok := amount(value)
		return !ok || n >= least && n <= most
	}
}

func above(least float64) func(string, int) bool {
	return within(math.Nextafter(least, math.Inf(1)), math.Inf(1))
}

// matching compares whole values with a pattern, which it compiles each time: a configuration needs few of
// these, and compiled before main they would cost every command.
func matching(pattern string) func(string) bool {
	return func(value string) bool { return regexp.MustCompile("^(?:" + pattern + ")$").MatchString(value) }
}

// elements keeps lists all of whose elements match.
func elements(pattern string) func(string, int) bool {
	matches := matching(pattern)
	return func(value string, _ int) bool {
		parts, err := SplitList(value)
		return err != nil || !slices.ContainsFunc(parts, func(p string) bool { return !matches(p) })
	}
}

// words keeps values that match.
func words(pattern string) func(string, int) bool { return plain(matching(pattern)) }

var metricLabel = matching(`[a-zA-Z_:][a-zA-Z0-9_:]*,[a-zA-Z_][a-zA-Z0-9_]*`)

// metricLabels keeps METRIC,LABEL=VALUES (k8s.io/component-base/metrics).
func metricLabels(value string, _ int) bool {
	pairs := []string{value}
	if strings.Count(value, "=") > 1 {
		pairs, _ = SplitList(value) // what cannot be split is reported by its type
	}
	for _, p := range pairs {
		if name, _, ok := strings.Cut(strings.Trim(p, `"`), "="); ok && !metricLabel(name) {
			return false
		}
	}
	return true
}

// previous keeps the minor version before (k8s.io/component-base/metrics: ValidateShowHiddenMetricsVersion).
func previous(value string, minor int) bool {
	return value == "" || minor == 0 || value == "1."+strconv.Itoa(minor-1)
}

// strictIP keeps an IP address without leading zeros.
func strictIP(value string) bool {
	value = strings.TrimSpace(value)
	return value == "" || net.ParseIP(value) != nil
}

// origins keeps what etcd allows for other origins: * or URLs.
func origins(value string) bool {
	if value == "*" {
		return true
	}
	return each(func(s string) bool {
		u, err := url.Parse(strings.TrimSpace(s))
		return err == nil && slices.Contains([]string{"http", "https", "unix", "unixs"}, u.Scheme)
	})(value)
}

// serviceRanges keeps one subnet of at least 8 addresses, or two of different families
// (pkg/controlplane: ServiceIPRange).
func serviceRanges(value string) bool {
	parts := strings.Split(value, ",")
	v6 := 0
	for _, p := range parts {
		_, n, err := net.ParseCIDR(strings.TrimSpace(p))
		if err != nil {
			return value == ""
		}
		if ones, bits := n.Mask.Size(); bits-ones < 3 {
			return false
		}
		if n.IP.To4() == nil {
			v6++
		}
	}
	return len(parts) == 1 || len(parts) == 2 && v6 == 1
}

// distinctTaints keeps taints of which no two have the same key and effect (pkg/util/taints).
func distinctTaints(value string) bool {
	var known []string
	for _, taint := range strings.Split(value, ",") {
		head, effect, _ := strings.Cut(taint, ":")
		key, _, _ := strings.Cut(head, "=")
		if taint != "" && slices.Contains(known, key+":"+effect) {
			return false
		}
		known = append(known, key+":"+effect)
	}
	return true
}

// plainMinor keeps versions from some minor versions before the component's own.
func plainMinor(newest, oldest int) func(string, int) bool {
	return func(value string, minor int) bool {
		n, err := strconv.Atoi(strings.TrimPrefix(strings.TrimPrefix(value, "kube="), "1."))
		return err != nil || minor == 0 || n <= minor-newest && n >= minor-oldest
	}
}

// curves are the curves for TLS that Go has (crypto/tls: CurveID).
var curves = []string{"23", "24", "25", "29", "4587", "4588", "4589"}

const unsigned = `[0-9]+`

// rules are ordered by the components that they are about. Their source is named where it is one place.
var rules = []rule{
	// All of Kubernetes.
	{"kube-apiserver kube-controller-manager kube-scheduler", "help", "false: with help it prints its flags and ends", words(`false|False|FALSE|f|F|0`)},
	{"kube-apiserver kube-controller-manager kube-scheduler", "version", "nothing: with version it prints its version and ends", words(`false|False|FALSE|f|F|0|v[0-9]+\.[0-9]+\.[0-9]+.*`)},
	{"kube", "log-flush-frequency", "a duration above 0", above(0)},
	{"kube", "logging-format", "json or text", words(`.+`)},
	{"kube", "vmodule", "PATTERN=N, several separated by commas", words(`|,*[^=,]+=` + unsigned + `(,+[^=,]+=` + unsigned + `)*,*`)},
	{"kube", "allow-metric-labels", "METRIC,LABEL=VALUE,VALUE", metricLabels},
	{"kube", "disabled-metrics", "names of metrics, separated by commas", since(36, elements(`[a-zA-Z_:][a-zA-Z0-9_:]*`))},
	{"kube", "show-hidden-metrics-for-version", "the previous minor version, as in 1.35", previous},
	{"kube-apiserver kube-controller-manager kube-scheduler", "advertise-address bind-address", "an IP address without leading zeros", plain(strictIP)},
	{"kube-controller-manager kube-scheduler", "secure-port", "a port from 0 to 65535", within(0, 65535)},
	{"kube-apiserver", "secure-port", "a port from 1 to 65535", within(1, 65535)},
	{"kube-apiserver kube-controller-manager kube-scheduler", "emulated-version min-compatibility-version", "a version, as in 1.36", elements(`(kube=)?v?[0-9]+\.[0-9]+(\..*)?`)},
	{"kube-apiserver kube-controller-manager kube-scheduler", "emulated-version min-compatibility-version", "the component's minor version, or one of the three before it", plainMinor(0, 3)},
	{"kube-apiserver kube-controller-manager kube-scheduler", "requestheader-allowed-names requestheader-extra-headers-prefix requestheader-group-headers requestheader-uid-headers requestheader-username-headers", "words, none of which is empty", elements(`\s*\S.*`)},
	{"kube-apiserver kube-controller-manager kube-scheduler", "requestheader-uid-headers", "names of headers, one of which is X-Remote-Uid", plain(func(v string) bool { return v == "" || strings.Contains(strings.ToLower(v), "x-remote-uid") })},
	{"kube", "tls-curve-preferences", "numbers of curves that Go has: " + strings.Join(curves, ", "), plain(func(v string) bool {
		return !slices.ContainsFunc(strings.Split(v, ","), func(c string) bool { return !slices.Contains(curves, strings.TrimSpace(c)) })
	})},
	{"kube-controller-manager kube-scheduler", "kubeconfig", "the path of a kubeconfig", words(`.+`)},
	{"kube-controller-manager kube-scheduler", "master", "a URL, or HOST:PORT", words(`|[^/].*`)},
	{"kube-controller-manager kube-scheduler", "leader-elect-resource-lock", "leases", words(`.+`)},
	{"kube-scheduler", "write-config-to", "nothing: with it the scheduler writes a file and ends", words(``)},
	{"kube-controller-manager kube-scheduler", "kube-api-burst", "a number that is not negative", within(0, math.Inf(1))},
	{"kube-apiserver", "admission-control", "nothing: enable-admission-plugins is set, and the API server takes one of the two", words("\x00")},
	{"kube-apiserver", "apiserver-count", "a number above 0", above(0)},
	{"kube-apiserver", "goaway-chance", "a number from 0 to 0.02", within(0, 0.02)},
	{"kube-apiserver", "kubernetes-service-node-port", "0 or a port of service-node-port-range", within(0, 65535)},
	{"kube-apiserver", "livez-grace-period shutdown-delay-duration shutdown-watch-termination-grace-period min-request-timeout max-requests-inflight max-mutating-requests-inflight", "a value that is not negative", within(0, math.Inf(1))},
	{"kube-apiserver", "emulation-forward-compatible runtime-config-emulation-forward-compatible", "false: true needs an emulated version below the server's own", plain(func(v string) bool { on, _ := strconv.ParseBool(v); return !on })},
	{"kube-apiserver", "oidc-issuer-url service-account-jwks-uri", "a URL that begins with https://", words(`|https://.*`)},
	{"kube-apiserver", "runtime-config", "VERSION=true or GROUP/VERSION=true, several separated by commas", elements(`|v1(=true)?|(api/(all|ga|beta|alpha|legacy)|[a-z0-9.-]+/v[12]((alpha|beta)[0-9]+)?(/[a-z]+)?)(=.*)?`)},
	{"kube-apiserver", "service-account-issuer service-account-signing-key-file", "a value that is not empty", words(`.+`)},
	{"kube-apiserver", "service-account-max-token-expiration", "0 or a duration from 1h to 4294967296s", plain(func(v string) bool { return v == "0" || v == "0s" || within(3600, 1<<32)(v, 0) })},
	{"kube-apiserver", "service-account-signing-endpoint", "nothing: service-account-signing-key-file is set, and the API server takes one of the two", words(``)},
	{"kube-apiserver", "service-cluster-ip-range", "a subnet of at least 8 addresses, or one of IPv4 and one of IPv6", plain(serviceRanges)},
	{"kube-apiserver", "strict-transport-security-directives", "max-age=SECONDS, includeSubDomains and preload, separated by commas", elements(`max-age=[0-9]+|includeSubDomains|preload`)},
	{"kube-apiserver", "watch-cache-sizes", "RESOURCE#SIZE, several separated by commas", elements(`[^#]+#[0-9]+`)},
	{"kube-apiserver", "etcd-servers-overrides", "GROUP/RESOURCE#SERVERS, several separated by commas", elements(`[^#/]*/[^#/]*#[^#]+`)},
	{"kube-apiserver", "cors-allowed-origins", "regular expressions that begin with ^ or // and end with $ or a port", elements(`(\(\?i\))?(\^|//).*`)},
	{"kube-apiserver", "enable-admission-plugins disable-admission-plugins", "names of plugins, none of which is empty", elements(`.+`)},
	// The controller manager.
	{"kube-controller-manager", "attach-detach-reconcile-sync-period", "a duration of 1s or more", within(1, math.Inf(1))},
	{"kube-controller-manager", "concurrent-cron-job-syncs concurrent-daemonset-syncs concurrent-device-taint-eviction-syncs concurrent-ephemeralvolume-syncs concurrent-resourceclaim-syncs concurrent-job-syncs", "a number above 0", above(0)},
	{"kube-controller-manager", "concurrent-service-endpoint-syncs mirroring-concurrent-service-endpoint-syncs", "a number from 1 to 50", within(1, 50)},
	{"kube-controller-manager", "max-endpoints-per-slice mirroring-max-endpoints-per-subset", "a number from 1 to 1000", within(1, 1000)},
	{"kube-controller-manager", "controllers", "names of controllers, a * for all, and -NAME for all but one", elements(`[^-].*|-[^*].*|`)},
	// The kubelet.
	{"kubelet", "allowed-unsafe-sysctls", "sysctls that a pod can have for itself, as in net.* or kernel.msg*", func(v string, minor int) bool {
		parts, _ := SplitList(v)
		return !slices.ContainsFunc(parts, func(p string) bool { return !namespaced(p, minor) })
	}},
	{"kubelet", "register-with-taints", "taints, each key and effect once", plain(distinctTaints)},
	{"kubelet", "version", "false", words(`(?i)true|false|t|f|0|1|raw|v[0-9].*`)},
	{"kubelet", "port", "a port from 1 to 65535", within(1, 65535)},
	{"kubelet", "container-log-max-size", "a quantity, as in 10Mi", plain(func(v string) bool { return Types["quantity"].Reads(v) })},
	{"kubelet", "cpu-manager-policy memory-manager-policy topology-manager-policy topology-manager-scope", "a name that is not empty", words(`.+`)},
	{"kubelet", "file-check-frequency global-housekeeping-interval runtime-request-timeout", "a duration above 0", above(0)},
	{"kubelet", "minimum-container-ttl-duration sync-frequency", "a duration that is not negative", within(0, math.Inf(1))},
	{"kubelet", "minimum-image-ttl-duration", "a duration that is not negative", since(36, within(0, math.Inf(1)))},
	{"kubelet", "qos-reserved", "memory and a percentage, as in memory=50%", words(`|memory=[0-9]+%`)},
	{"kubelet", "reserved-cpus", "numbers and ranges of CPUs, as in 0-1,3", words(`|[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*`)},
	{"kubelet", "reserved-memory", "NUMA-NODE:TYPE=QUANTITY, as in 0:memory=1Gi", words(`|([0-9]+:(memory|hugepages-[0-9A-Za-z]+)=[0-9.]+([kMGTPE]i?|m)?(,(memory|hugepages-[0-9A-Za-z]+)=[0-9.]+([kMGTPE]i?|m)?)*;?)+`)},
	// etcd (server/embed/config.go, server/etcdmain/config.go).
	{"etcd", "version help", "false: with it etcd ends", words(`false|False|FALSE|f|F|0`)},
	{"etcd", "auth-token", "simple, or jwt and its options", words(`|simple(,.*)?|jwt(,.*)?`)},
	{"etcd", "cipher-suites", "names of cipher suites, separated by commas", words(`.+`)},
	{"etcd", "compact-hash-check-time experimental-compact-hash-check-time", "a duration above 0", above(0)},
	{"etcd", "corrupt-check-time experimental-corrupt-check-time", "a duration that is not negative", within(0, math.Inf(1))},
	{"etcd", "config-file", "nothing: with a file etcd ignores all flags, and kubewright writes flags", words(``)},
	{"etcd", "name initial-cluster initial-advertise-peer-urls", "nothing: kubewright writes them for each member, and they have to agree", words("\x00")},
	{"etcd", "cors", "* or URLs, separated by commas", plain(origins)},
	{"etcd", "discovery discovery-srv discovery-token", "nothing: the members are known, and etcd takes one of the two", words(``)},
	{"etcd", "discovery-endpoints", "nothing: the members are known, and etcd takes one of the two", words("\x00")},
	{"etcd", "discovery-fallback", "exit", words(`exit`)},
	{"etcd", "v2-deprecation", "write-only, write-only-drop-data or gone", words(`write-only|write-only-drop-data|gone`)},
	{"etcd", "logger", "zap", words(`zap`)},
	{"etcd", "log-outputs", "stdout, stderr, systemd/journal, default or a file", words(`.+`)},
	{"etcd", "max-learners", "a number that is not negative", within(0, math.Inf(1))},
	{"etcd", "experimental-watch-progress-notify-interval", "nothing: watch-progress-notify-interval is set, and etcd takes one of the two", func(_ string, minor int) bool { return minor == 0 || minor < 34 }},
	{"etcd", "experimental-initial-corrupt-check", "nothing: the gate InitialCorruptCheck is set, and etcd takes one of the two", func(_ string, minor int) bool { return minor == 0 || minor < 34 }},
}
